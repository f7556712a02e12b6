#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the portable toolkit with its conformance tests and runs them:
#   plain   optimised, with the report matrix
#   asan    AddressSanitizer and UndefinedBehaviorSanitizer
#   tsan    ThreadSanitizer, without any suppression
#   faults  each planted fault must fail at least one test
# usage: run.sh plain|asan|tsan|faults [BUILD_FOLDER]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
toolkit=$(dirname "$here")
mode=${1:-plain}
case $mode in
  plain) flags=(-DCMAKE_BUILD_TYPE=Release) ;;
  asan) flags=(-DCMAKE_BUILD_TYPE=RelWithDebInfo -DFLAGOS_SANITIZE=address) ;;
  tsan) flags=(-DCMAKE_BUILD_TYPE=RelWithDebInfo -DFLAGOS_SANITIZE=thread) ;;
  faults) flags=(-DCMAKE_BUILD_TYPE=Release -DMUSA_PLANTED_FAULTS=ON) ;;
  *)
    echo "usage: $0 plain|asan|tsan|faults [BUILD_FOLDER]" >&2
    exit 2
    ;;
esac
build=${2:-$toolkit/../build/conformance-$mode}

cmake -S "$toolkit" -B "$build" -G Ninja -DMUSA_CONFORMANCE=ON \
  -DMUSA_BENCHMARKS=OFF "${flags[@]}" >"$build.log" 2>&1 ||
  { tail -n 30 "$build.log" >&2; exit 1; }
cmake --build "$build" >>"$build.log" 2>&1 ||
  { tail -n 60 "$build.log" >&2; exit 1; }

# Shadow memory needs a mapping that wide randomisation can miss.
wrap=()
if [ "$mode" = tsan ] &&
  [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)" -gt 28 ]; then
  wrap=(setarch "$(uname -m)" -R)
fi

if [ "$mode" != faults ]; then
  exec "${wrap[@]}" ctest --test-dir "$build" -L conformance \
    --output-on-failure
fi

export MUSA_CPU_DEVICES=2 MUSA_CPU_MEMORY=2GiB
# run FAULT LIBRARY: the exit status of the suite with the fault; without the
# many processes that end amid work, which no fault here is about.
run() {
  MUSA_PLANT=$1 timeout 300 "$build/conformance/conformance_$2" --quiet \
    --gtest_fail_fast --gtest_filter='-exit.*' >"$build/fault-$1-$2.log" 2>&1
}
for library in musart mudnn murand; do
  run none $library || {
    tail -n 30 "$build/fault-none-$library.log" >&2
    echo "$library fails without any fault" >&2
    exit 1
  }
done
missed=()
count=0
while read -r fault library; do
  case $fault in '' | '#'*) continue ;; esac
  count=$((count + 1))
  if run "$fault" "$library"; then
    missed+=("$fault")
    echo "not noticed  $fault"
  else
    test=$(sed -n 's/^\[ FAILED \] //p' "$build/fault-$fault-$library.log")
    echo "noticed      $fault: ${test:-the run ended early}"
  fi
done <"$here/faults.txt"
if [ ${#missed[@]} -gt 0 ]; then
  echo "${#missed[@]} of $count faults passed every test: ${missed[*]}" >&2
  exit 1
fi
echo "all $count planted faults were noticed"
