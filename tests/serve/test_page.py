"""The examples of docs/server.md run, and print what they say."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "server.md"


def test_examples(base, serve, capsys):
    port = serve(base).port
    blocks = re.findall(r"(?ms)^```py\n(.*?)^```", PAGE.read_text("utf-8"))
    text = "\n".join(blocks)
    exec(text.replace("31337", str(port)), {})
    expected = re.findall(r"print\(.*\)  # (.+)", text)
    assert capsys.readouterr().out.splitlines() == expected
    assert len(expected) == 2
