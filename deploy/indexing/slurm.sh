#!/bin/bash
# A list of books into the store, as an array of Slurm jobs:
#
#   sbatch --export=ALL,MANIFEST=books.csv,STORYQA_STORE=/shared/store deploy/indexing/slurm.sh
#
# The same again skips what is indexed; only some parts again: sbatch --array=3,7 and the rest as before.
#SBATCH --job-name=storyqa-index
#SBATCH --array=0-99
#SBATCH --requeue
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=24:00:00
#SBATCH --output=storyqa-index-%A-%a.log
set -euo pipefail

# Not Slurm's own count, which is smaller where only some parts run again. As many as --array has.
SHARDS=${SHARDS:-100}
REPORTS=${REPORTS:-reports}
mkdir -p "$REPORTS"

exec storyqa index --manifest "$MANIFEST" --shard "$SLURM_ARRAY_TASK_ID/$SHARDS" \
    --workers "$SLURM_CPUS_PER_TASK" --report "$REPORTS/$SLURM_ARRAY_TASK_ID.jsonl"
