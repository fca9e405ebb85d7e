"""What the tool for machine code reads in a listing of the disassembler."""

import importlib.util
import sys
from pathlib import Path

BENCH = Path(__file__).parent.parent / "bench" / "machine_code.py"

TOLD = """ptxas info    : Function properties for fused
    0 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads
ptxas info    : Used 55 registers, used 1 barriers, 700 bytes cmem[0]
"""

CODE = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;             /* 0x00000a00ff017b82 */
                                                                      /* 0x000fe20000000800 */
        /*0010*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0020*/                   LDG.E.U8 R8, desc[UR4][R2.64+0x10] ;
        /*0030*/              @!P0 IADD3 R9, R7, R9, RZ ;
        /*0040*/                   LDG.E R10, desc[UR4][R2.64] ;
        /*0050*/                   ATOMS.ADD RZ, [R10], R9 ;
        /*0060*/                   ATOMS.CAS.64 R12, [R13], R14, R16 ;
        /*0070*/               @P1 BRA 0x10 ;
        /*0080*/                   REDG.E.ADD.64.STRONG.GPU desc[UR4][R2.64], R4 ;
        /*0090*/                   EXIT ;
        /*00a0*/                   BRA 0xa0;
        /*00b0*/                   NOP;
"""


def test_a_listing(monkeypatch):
    specification = importlib.util.spec_from_file_location("machine_code", BENCH)
    tool = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "machine_code", tool)
    specification.loader.exec_module(tool)
    found = tool.read(TOLD, CODE)
    assert (found.registers, found.spilled_bytes) == (55, 24)
    assert (found.instructions, found.loop_instructions) == (11, 7)
    # The fourth register of the first load is used after the second load.
    assert (found.loads, found.load_bytes) == (2, 17)
    assert (found.atoms, found.compare_and_swap, found.red) == (1, 1, 1)
