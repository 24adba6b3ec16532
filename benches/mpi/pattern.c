/* Makes the same MPI-IO calls in plain C, for compare.py.
 *
 * pattern DIRECTORY LEVEL ELEMENT BLOCKS ROUNDS: every round writes ELEMENT * BLOCKS bytes a rank as a
 * pattern of the level does; prints the median and the least over rounds of the slowest rank's time in ns. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 6) {
        fprintf(stderr, "pattern DIRECTORY LEVEL ELEMENT BLOCKS ROUNDS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int level = atoi(argv[2]), element = atoi(argv[3]), blocks = atoi(argv[4]), rounds = atoi(argv[5]);
    char path[4096];
    snprintf(path, sizeof path, "%s/pattern-c", argv[1]);
    char *memory = malloc((size_t)element * blocks);
    long long *times = malloc(sizeof *times * rounds);
    memset(memory, rank + 1, (size_t)element * blocks);

    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) {
        fprintf(stderr, "cannot open %s\n", path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (level >= 2) {
        int sizes[2] = {blocks, ranks * element}, part[2] = {blocks, element}, start[2] = {0, rank * element};
        MPI_Datatype column;
        MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_BYTE, &column);
        MPI_Type_commit(&column);
        MPI_File_set_view(file, 0, MPI_BYTE, column, "native", MPI_INFO_NULL);
    }
    for (int round = -1; round < rounds; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        long long begin = now();
        MPI_Status status;
        if (level == 2)
            MPI_File_write_at(file, 0, memory, element * blocks, MPI_BYTE, &status);
        if (level == 3)
            MPI_File_write_at_all(file, 0, memory, element * blocks, MPI_BYTE, &status);
        for (int block = 0; level < 2 && block < blocks; block++) {
            MPI_Offset at = ((MPI_Offset)block * ranks + rank) * element;
            char *from = memory + (size_t)block * element;
            if (level == 0)
                MPI_File_write_at(file, at, from, element, MPI_BYTE, &status);
            else
                MPI_File_write_at_all(file, at, from, element, MPI_BYTE, &status);
        }
        long long took = now() - begin, slowest;
        MPI_Allreduce(&took, &slowest, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
        /* The first round makes the file. */
        if (round >= 0)
            times[round] = slowest;
    }
    MPI_File_close(&file);
    if (rank == 0) {
        qsort(times, rounds, sizeof *times, ascending);
        printf("median %lld ns, least %lld ns\n", times[rounds / 2], times[0]);
        MPI_File_delete(path, MPI_INFO_NULL);
    }
    MPI_Finalize();
    return 0;
}
