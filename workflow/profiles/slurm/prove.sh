#!/usr/bin/env bash
# Runs a small profile through a real Slurm on this machine and compares its tables with a run without Slurm, byte for byte.
#
#   sudo PYTHON=$PWD/.venv/bin/python workflow/profiles/slurm/prove.sh
#
# Debian or Ubuntu, as root, about twelve minutes. It installs slurm-wlm and munge, starts slurmctld and a node of its own on
# unusual ports, and ends what it has started. The node stands in a network namespace that reaches the controller and nothing
# else, as many compute nodes do; jobs that take more memory than they asked for are killed; one job is cancelled midway.
# PYTHON: an interpreter with attreval and its extra `slurm`. KEEP=1 leaves the folder with results, logs and slurm.conf.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/../../.." && pwd)
PYTHON=${PYTHON:-$checkout/.venv/bin/python}
say() { printf '== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || fail "a Slurm node is started by root; you are $(id -un): use sudo"
"$PYTHON" -c 'import attreval, snakemake_executor_plugin_slurm' ||
  fail "$PYTHON lacks attreval or the executor plugin: pip install -e '.[slurm]', or name another interpreter in PYTHON"
missing=
for program in slurmctld slurmd munged ip; do command -v "$program" >/dev/null || missing=yes; done
if [ -n "$missing" ]; then
  say "installing slurm-wlm, munge and iproute2"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends slurm-wlm munge iproute2 >/dev/null
fi

# Mounts of its own: what lies in /etc/slurm here is not touched. Jobs find no slurm.conf through SLURM_CONF, since the
# executor's job step clears the environment of all SLURM_ variables but a few.
[ -n "${ATTREVAL_PROVING:-}" ] || exec env ATTREVAL_PROVING=1 PYTHON="$PYTHON" unshare --mount bash "$0" "$@"

work=$(mktemp -d /tmp/attreval-slurm.XXXXXX)
node=$(hostname -s)
space="av$$"
pids=()
unset SLURM_CONF
clean() {
  status=$?
  trap '' INT TERM HUP
  [ -z "${run_pid:-}" ] || kill "$run_pid" 2>/dev/null || true
  if [ /etc/slurm/slurm.conf -ef "$work/etc/slurm.conf" ]; then # the Slurm that was started here, and no other
    scancel --user=root 2>/dev/null || true
    for _ in $(seq 30); do [ -n "$(squeue -h 2>/dev/null)" ] || break; sleep 1; done
  fi
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done # the node first
  ip netns del "$space" 2>/dev/null || true # the veth pair goes with it
  if [ -n "${KEEP:-}" ]; then say "kept: $work"; else rm -rf "$work"; fi
  exit $status
}
trap 'exit 130' INT TERM HUP
trap clean EXIT

say "a node without network: namespace $space, 10.213.7.2, reaches 10.213.7.1 (the controller) only"
ip netns add "$space"
ip link add "$space" type veth peer name eth0 netns "$space"
ip addr add 10.213.7.1/30 dev "$space" && ip link set "$space" up
ip -n "$space" addr add 10.213.7.2/30 dev eth0
ip -n "$space" link set eth0 up && ip -n "$space" link set lo up

if ! munge -n >/dev/null 2>&1; then
  say "starting munged"
  [ -f /etc/munge/munge.key ] || mungekey --create
  install -d -o munge -g munge -m 755 /run/munge
  install -d -o munge -g munge -m 700 /var/log/munge /var/lib/munge
  runuser -u munge -- munged --foreground >"$work/munged.log" 2>&1 &
  pids=($! "${pids[@]}")
  for _ in $(seq 20); do munge -n >/dev/null 2>&1 && break || sleep 0.5; done
  munge -n >/dev/null || fail "munged does not answer; see $work/munged.log (KEEP=1)"
fi

mkdir "$work/etc" "$work/state" "$work/spool"
# Where systemd rules, cgroups hold jobs to their memory; in a container, whose cgroup jobs must not leave, Slurm measures
# every 2 seconds and kills what takes more.
if [ "$(cat /proc/1/comm)" = systemd ]; then
  enforced="ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup"
  printf 'ConstrainRAMSpace=yes\nConstrainSwapSpace=yes\nConstrainCores=yes\n' >"$work/etc/cgroup.conf"
else
  enforced="ProctrackType=proctrack/linuxproc
TaskPlugin=task/none"
fi
memory=$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
cat >"$work/etc/slurm.conf" <<CONF
ClusterName=attreval
SlurmctldHost=$node(10.213.7.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
SlurmctldPort=26817
SlurmdPort=26818
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
$enforced
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
MinJobAge=3600
KillWait=5
DefMemPerCPU=500
NodeName=$node NodeAddr=10.213.7.2 CPUs=$(getconf _NPROCESSORS_ONLN) RealMemory=$memory State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
mkdir -p /etc/slurm
mount --bind "$work/etc" /etc/slurm
say "starting slurmctld and slurmd $(slurmd -V)"
slurmctld -D -c >"$work/slurmctld.log" 2>&1 &
pids=($! "${pids[@]}")
nsenter --net="/run/netns/$space" slurmd -D >"$work/slurmd.log" 2>&1 &
pids=($! "${pids[@]}")
for _ in $(seq 60); do [ "$(sinfo -h -o %T 2>/dev/null)" = idle ] && break || sleep 1; done
[ "$(sinfo -h -o %T)" = idle ] || { tail -5 "$work"/slurm*.log >&2; fail "the node does not come up"; }

say "a job reaches no network"
reach='import socket; socket.setdefaulttimeout(5); socket.create_connection(("151.101.0.223", 443))'
if srun --mem=200 "$PYTHON" -c "$reach" 2>"$work/network.log"; then fail "a job reached the package registry's network"; fi
grep -o 'OSError.*' "$work/network.log" || fail "the job failed for another reason: $(cat "$work/network.log")"

say "a job that takes more memory than it asked for is killed"
if srun --mem=200 "$PYTHON" -c 'import time; x = bytearray(800_000_000); time.sleep(30)' 2>"$work/memory.log"; then
  fail "800 MB were taken where 200 MB were asked for"
fi
grep -iEo '(exceeded|oom|out of memory|killed).*' "$work/memory.log" | head -1

cat >"$work/proof.yaml" <<'YAML'
name: proof
seed: 0
threads: 1
workers: 2
device: cpu
models:
  gru: { architecture: gru, hidden: 8, embedding_size: 16, max_length: 60 }
tasks:
  rotten_tomatoes: { models: [gru], seeds: [1], train_rows: 512, dev_rows: 64, test_rows: 64, explain_rows: 6, judges: [faithfulness] }
training: { epochs: 4, batch_rows: 16, learning_rate: 1.0e-3, evaluations_per_epoch: 1, precision: float32 }
explain: { methods: [random, gradient_l2, gradient_x_input, omission_1], shards: 2, perturbation_precision: float32 }
faithfulness: { ratios: [0.1, 0.5], draws: 2, scale_rows: 3, control_rows: 0, released_rows: 0, driver_rows: 0, noise_variances: [0.1] }
bootstrap: { draws: 100 }
joint: { tasks: { rotten_tomatoes: 4 }, asked: { rotten_tomatoes: 2 } }
meta: { instances: 24, draws: 2 }
YAML

# a copy of the checkout: what is run here leaves no trace in it
mkdir "$work/home"
git -c safe.directory="$checkout" -C "$checkout" ls-files -z --cached --others --exclude-standard |
  tar -C "$checkout" --null --files-from=- --ignore-failed-read -cf - | tar -C "$work/home" -xf -
export ATTREVAL_HOME="$work/home" PYTHONPATH="$work/home/src${PYTHONPATH:+:$PYTHONPATH}"
attreval="$(dirname "$PYTHON")/attreval"
cd "$work/home"

say "the profile proof, through Slurm"
ATTREVAL_RESULTS="$work/slurm" "$PYTHON" "$attreval" run --profile "$work/proof.yaml" -- \
  --profile workflow/profiles/slurm --slurm-logdir "$work/logs" --slurm-keep-successful-logs \
  --slurm-status-command squeue --slurm-init-seconds-before-status-checks 5 >"$work/run.log" 2>&1 &
run_pid=$!

# the first job that explains is cancelled once its notebook has begun
cancelled=
while kill -0 "$run_pid" 2>/dev/null; do
  for job in $(squeue -h -t RUNNING -o '%i %k' | awk '/explain/ {print $1}'); do
    if grep -qs '03_explain.*: starting' "$work"/logs/rule_explain/*/"$job".log; then
      sleep 2
      scancel "$job" && cancelled=$job && say "cancelled job $job midway" && break 2
    fi
  done
  sleep 0.5
done
if ! wait "$run_pid"; then cat "$work/run.log" >&2; fail "the run through Slurm"; fi
run_pid=
cat "$work/run.log"
[ -n "$cancelled" ] || fail "no job was cancelled: none was seen while it explained"
squeue -h -t all -o '%i %T %k' | sort -n
squeue -h -t all -j "$cancelled" -o %T | grep -q CANCELLED || fail "job $cancelled ended before it was cancelled"
squeue -h -t all -o %k | grep -qE 'fetch|site' && fail "a local rule became a job"

say "the same profile, without Slurm"
ATTREVAL_RESULTS="$work/one" "$PYTHON" "$attreval" run --profile "$work/proof.yaml" >"$work/one.log" 2>&1 ||
  { cat "$work/one.log" >&2; fail "the run without Slurm"; }

count=$(find "$work/one/proof/tables" -name '*.csv' | wc -l)
[ "$count" -gt 10 ] || fail "only $count tables"
diff -rq "$work/slurm/proof/tables" "$work/one/proof/tables" || fail "tables differ"
say "PROVED: $count tables are the same bytes; job $cancelled was killed midway and run again; jobs had no network"
