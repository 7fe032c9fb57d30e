#!/bin/bash
# A sweep as a job array: every job computes its share of the batches into one shared folder.
#
#   sbatch --array=1-100 examples/slurm.sh sweep.toml results/sweep
#
# A job that was killed, or ran out of time, is submitted again with the same command: what is
# finished is kept. When all are through, gather the table of trials with
#
#   expectant run sweep.toml --out results/sweep
#
#SBATCH --job-name=expectant
#SBATCH --cpus-per-task=4
#SBATCH --mem=4G
#SBATCH --time=02:00:00
#SBATCH --output=%x-%A-%a.log

set -euo pipefail

spec=${1:?the spec, such as sweep.toml}
out=${2:?the folder for the results, on a disk that all nodes share}

# Compiled loops are kept here, so that only the first jobs compile.
export EXPECTANT_CACHE_DIR=${EXPECTANT_CACHE_DIR:-$HOME/.cache/expectant}

exec expectant run "$spec" --out "$out" \
    --threads "${SLURM_CPUS_PER_TASK:-1}" \
    --shard "${SLURM_ARRAY_TASK_ID:-1}/${SLURM_ARRAY_TASK_COUNT:-1}"
