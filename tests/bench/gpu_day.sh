#!/usr/bin/env bash
# Asks a machine with an NVIDIA device everything, the cheapest proof first, without a network.
#
#   tests/bench/gpu_day.sh OUT [STEP...]      steps: machine doctor agreement sanitizer ssb vectors profile
#
# Each step has a time limit and a log in OUT, and none stops the others; named ones alone are run.
# WHEELS=FOLDER has packages that the machine lacks, RayDB itself among them; SCALES="1 10 20" are
# the scale factors of SSB, whose data are made in memory.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$1; shift
steps=${*:-machine doctor agreement sanitizer ssb vectors profile}
mkdir -p "$out"; out=$(cd "$out" && pwd)
scales=${SCALES:-1 10 20}
python=${PYTHON:-python3}
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

if [ -n "${WHEELS:-}" ]; then
    site=${TMPDIR:-/tmp}/raydb-gpu-site
    [ -d "$site" ] || $python -m pip install -q --no-index --no-deps --no-compile --no-cache-dir \
        --target "$site" "$WHEELS"/*.whl || exit 1
    export PYTHONPATH=$site
fi
cd "$root/tests" || exit 1

step() { # NAME SECONDS COMMAND...
    local name=$1 limit=$2 start=$SECONDS; shift 2
    timeout -k 5 "$limit" "$@" >"$out/$name.log" 2>&1
    local status=$?
    echo "== $name: status $status, $((SECONDS - start)) s"
    tail -n "${LINES_SHOWN:-25}" "$out/$name.log"
}

for each in $steps; do case $each in
machine)
    step machine 30 bash -c "nvidia-smi; $python -m pip list 2>/dev/null | grep -iE \
        'numba|numpy|cupy|cuda|llvmlite|arrow|sqlglot|raydb|optix|polars|cudf|cuvs|pytest'; nproc
        ls /usr/lib/x86_64-linux-gnu/libnvoptix* /usr/local/nvidia/lib*/libnvoptix* 2>/dev/null
        command -v compute-sanitizer ncu nvcc" ;;
doctor)
    step doctor 90 $python -m raydb doctor ;;
agreement)
    step agreement 150 $python -m pytest -q -p no:cacheprovider --tb=short -n "${WORKERS:-8}" \
        kernels/cuda_compiled.py kernels/cuda_in_simulator.py kernels/nearest_on_cuda.py \
        kernels/faults_on_cuda.py engine/sql_on_cuda.py ;;
sanitizer)
    for tool in memcheck racecheck; do
        # Of an older driver cuda-bindings asks for functions that it does not have.
        step "$tool" 240 compute-sanitizer --tool $tool --error-exitcode 9 --report-api-errors no \
            $python -m pytest -q -p no:cacheprovider --tb=short -n 0 kernels/cuda_compiled.py \
            kernels/nearest_on_cuda.py
    done ;;
ssb)
    step ssb 400 $python bench/bench_gpu.py --sf $scales --json "$out/ssb.json" ;;
vectors)
    step vectors 120 $python bench/bench_gpu_vectors.py --json "$out/vectors.json" ;;
profile)
    step profile 120 ncu --clock-control none --set full --launch-skip 3 --launch-count 3 \
        $python bench/bench_gpu.py --sf ${scales%% *} --queries q1.1 ;;
*)
    echo "there is no step '$each'" ;;
esac; done
