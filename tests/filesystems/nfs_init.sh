#!/bin/sh
# First process of the User-Mode Linux machine: serve a directory by NFSv3, mount it, do jobs, halt.
# $1 is the folder shared with the host; jobs are numbers read from the console. A disk is mounted if there is one.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/dev/shm
work=$1
step() { "$@" || { echo "FAILED: $*"; poweroff -f; }; }

step mount -t proc proc /proc
step mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
for folder in /dev/shm /run /mnt /var/lib/nfs; do step mount -t tmpfs none $folder; done
mkdir -p /mnt/work /mnt/served /mnt/nfs /var/lib/nfs/sm /run/rpcbind
step mount -t hostfs -o "$work" none /mnt/work
step ip link set lo up
step modprobe -d /mnt/work/modules -a nfsd nfsv3 sch_netem
step mount -t nfsd nfsd /proc/fs/nfsd
step mount -t tmpfs none /mnt/served
touch /var/lib/nfs/etab /var/lib/nfs/rmtab /var/lib/nfs/state
step rpcbind -w
step exportfs -i -o sync,rw,insecure,no_root_squash,no_subtree_check,fsid=0 127.0.0.1:/mnt/served
step rpc.mountd --no-nfs-version 4
step rpc.nfsd --no-udp --no-nfs-version 4 4
step mount -t nfs -o vers=3,nolock,tcp 127.0.0.1:/mnt/served /mnt/nfs
if [ -b /dev/ubda ]; then
    step mkdir /mnt/disk
    step mount -t ext4 /dev/ubda /mnt/disk
fi

cd /mnt/work
echo READY
while read -r number; do
    sh "job-$number.sh" > "job-$number.out" 2> "job-$number.err"
    status=$?
    sync
    echo "DONE $number $status"
done
poweroff -f
