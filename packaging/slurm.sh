#!/bin/bash
# One measurement with lastrank on Slurm: sbatch slurm.sh
#SBATCH --job-name=lastrank
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
#SBATCH --time=00:30:00
# A quiet measurement needs exclusive nodes.
#SBATCH --exclusive
# SIGTERM two minutes before the end: lastrank then stops and keeps what it has.
#SBATCH --signal=TERM@120
#SBATCH --output=lastrank-%j.out
set -euo pipefail

# The MPI of your site, for example:
# module load openmpi

# Where to measure, and where the run goes: all ranks must see both.
target=${TARGET:-${SCRATCH:-$SLURM_SUBMIT_DIR}}
run=$SLURM_SUBMIT_DIR/run-$SLURM_JOB_ID.parquet

lastrank machine || true

# --kill-on-bad-exit=0: when a rank fails, let the others save their samples.
# pmix for Open MPI; pmi2 for MPICH and Intel MPI.
status=0
srun --mpi="${MPI_TYPE:-pmix}" --kill-on-bad-exit=0 \
    lastrank run "${PROGRAM:-parallel_write}" --set dir="$target" -o "$run" || status=$?

# A large or incomplete run is a folder of parts.
[ -e "$run" ] || run=${run%.parquet}.parts
if [ ! -e "$run" ]; then
    echo "nothing was measured: what lastrank or the launcher said is above" >&2
    exit $((status > 0 ? status : 1))
fi
lastrank report "$run" -o "${run%.*}.html"
exit $status
