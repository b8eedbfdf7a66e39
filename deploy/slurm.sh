#!/bin/bash
# Workers as an array of Slurm: sbatch --array=1-50 deploy/slurm.sh
# Each ends when no trial that it could run waits or runs. Cells need user namespaces on the nodes: `apprentice doctor` tells.
#SBATCH --job-name=apprentice
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=12:00:00
# Slurm asks a worker to end a minute before its time is over: its trials go back to the queue.
#SBATCH --signal=TERM@60
set -euo pipefail

# The address, with its password, in a file that only you can read.
exec srun apprentice worker --until-done \
  --queue-file "${APPRENTICE_QUEUE_FILE:-$HOME/.config/apprentice/queue}" \
  --name "slurm-${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}-${SLURM_ARRAY_TASK_ID:-0}" \
  --scratch "${SLURM_TMPDIR:-/tmp}/apprentice-workers"
