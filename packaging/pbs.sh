#!/bin/bash
# One measurement with lastrank on PBS: qsub pbs.sh
#PBS -N lastrank
#PBS -l select=4:ncpus=16:mpiprocs=16
#PBS -l walltime=00:30:00
# A quiet measurement needs exclusive nodes.
#PBS -l place=scatter:excl
#PBS -j oe
set -euo pipefail
cd "$PBS_O_WORKDIR"

# The MPI of your site, for example:
# module load openmpi

# Where to measure, and where the run goes: all ranks must see both.
target=${TARGET:-$PBS_O_WORKDIR}
run=$PBS_O_WORKDIR/run-${PBS_JOBID%%.*}.parquet
ranks=$(wc -l < "$PBS_NODEFILE")

status=0
mpirun -n "$ranks" lastrank run "${PROGRAM:-parallel_write}" --set dir="$target" -o "$run" || status=$?

# A large or incomplete run is a folder of parts.
[ -e "$run" ] || run=${run%.parquet}.parts
if [ ! -e "$run" ]; then
    echo "nothing was measured: what lastrank or the launcher said is above" >&2
    exit $((status > 0 ? status : 1))
fi
lastrank report "$run" -o "${run%.*}.html"
exit $status
