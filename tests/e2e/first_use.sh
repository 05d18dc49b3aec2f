#!/usr/bin/env bash
# The first use of the wheel: an environment of its own, the bundled capture from its conversion to a comparison, a package to share.
#   tests/e2e/first_use.sh WHEEL [DIRECTORY]
# Needs python3 with venv. DIRECTORY has PyTorch (site-packages): then a job is captured, by the module of the wheel.
set -euo pipefail
wheel=$(realpath "$1") torch=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
show() {
  local begin=${EPOCHREALTIME/./}
  printf '$ %s\n' "$*"
  "$@" >output
  sed -n 1,3p output
  printf '  (%d ms)\n' $(((${EPOCHREALTIME/./} - begin) / 1000))
}
show python3 -m venv environment
export PATH=$work/environment/bin:$PATH
show pip install --quiet --no-index --disable-pip-version-check "$wheel"
printf 'wheel %s, installed %s\n' "$(du -h "$wheel" | cut -f1)" "$(du -ch environment/{bin/reprise,lib/reprise,share} | tail -n 1 | cut -f1)"

capture=environment/share/reprise/captures/quickstart
show reprise --version
show reprise convert "$capture" -o trace
show reprise validate trace
show reprise report trace
show reprise simulate trace -o faster --machine recorded --time-scale gemm=0.5
show reprise report faster -o report.html
show reprise compare trace faster
show reprise predict llama3-8b --machine h200-hgx
show reprise anonymize trace shared --verify
show reprise pack shared -o job.reprise
show reprise audit shared
grep -q '<html' report.html
python -c 'import reprise, reprise_capture, reprise_machine; print(sorted(reprise.__all__))'
if reprise devices >output 2>why; then
  show reprise replay trace -o run -n 2 --iterations 1 --device host
else
  code=$?
  cat why
  [ "$code" -eq 4 ] && grep -q 'Debian: openmpi-bin' why
fi

if [ -n "$torch" ]; then
  cat >train.py <<'END'
import torch
import reprise_capture
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.AdamW(model.parameters())
capture = reprise_capture.start("capture", steps=(5, 6))
for _ in range(20):
    loss = torch.nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(0, 10, (32,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    capture.step()
END
  show env PYTHONPATH="$torch" python train.py
  show reprise convert capture -o captured
  show reprise report captured
fi
echo "first use: all passed"
