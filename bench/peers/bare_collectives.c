// A collective as a plain MPI program writes it: a loop of one call on touched buffers, nothing of
// Reprise around. `mpicc -O2 bare_collectives.c`; bench/peers/collectives.py builds and starts it.
//   bare_collectives KIND blocking|nonblocking in|out FIRST_BYTES LAST_BYTES FACTOR ITERATIONS
// KIND as `reprise bench collectives` names it. Sizes are of the larger buffer of a rank, float32,
// root 0. One line a size on rank 0: bytes, ns of one call (mean over ranks and iterations).
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ranks, rank;

static int Start(const char* kind, char* in, char* out, int bytes, int in_place, MPI_Request* r) {
  const int count = bytes / 4, block = bytes / ranks;
  void* const from = in_place ? MPI_IN_PLACE : in;
  if (strcmp(kind, "all_reduce") == 0) {
    return r ? MPI_Iallreduce(from, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, r)
             : MPI_Allreduce(from, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (strcmp(kind, "all_gather") == 0) {
    return r ? MPI_Iallgather(from, block, MPI_BYTE, out, block, MPI_BYTE, MPI_COMM_WORLD, r)
             : MPI_Allgather(from, block, MPI_BYTE, out, block, MPI_BYTE, MPI_COMM_WORLD);
  }
  if (strcmp(kind, "reduce_scatter") == 0) {
    return r ? MPI_Ireduce_scatter_block(from, out, block / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, r)
             : MPI_Reduce_scatter_block(from, out, block / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (strcmp(kind, "all_to_all") == 0) {
    return r ? MPI_Ialltoall(from, block, MPI_BYTE, out, block, MPI_BYTE, MPI_COMM_WORLD, r)
             : MPI_Alltoall(from, block, MPI_BYTE, out, block, MPI_BYTE, MPI_COMM_WORLD);
  }
  if (strcmp(kind, "broadcast") == 0) {
    // MPI has one buffer. Out of place the root keeps a copy in its output, as NCCL does.
    char* const data = rank == 0 && !in_place ? in : out;
    if (data == in) {
      memcpy(out, in, (size_t)bytes);
    }
    return r ? MPI_Ibcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, r)
             : MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  return MPI_ERR_OTHER;
}

static void Once(const char* kind, char* in, char* out, int bytes, int in_place, int blocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (Start(kind, in, out, bytes, in_place, blocking ? NULL : &request) != MPI_SUCCESS) {
    fprintf(stderr, "bare_collectives: %s failed\n", kind);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 8) {
    fprintf(stderr,
            "usage: bare_collectives KIND blocking|nonblocking in|out FIRST LAST FACTOR ITERATIONS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int blocking = strcmp(argv[2], "blocking") == 0, in_place = strcmp(argv[3], "in") == 0;
  const long last = atol(argv[5]), factor = atol(argv[6]);
  const int iterations = atoi(argv[7]), warmup = 5;
  for (long bytes = atol(argv[4]); bytes <= last; bytes *= factor) {
    char *in = malloc((size_t)bytes), *out = malloc((size_t)bytes);
    memset(in, 0, (size_t)bytes);
    memset(out, 0, (size_t)bytes);
    for (int i = 0; i < warmup; ++i) {
      Once(argv[1], in, out, (int)bytes, in_place, blocking);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    for (int i = 0; i < iterations; ++i) {
      Once(argv[1], in, out, (int)bytes, in_place, blocking);
    }
    double took_s = MPI_Wtime() - start_s, sum_s = 0;
    MPI_Reduce(&took_s, &sum_s, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
      printf("%ld %.0f\n", bytes, sum_s / ranks / iterations * 1e9);
      fflush(stdout);
    }
    free(in);
    free(out);
  }
  MPI_Finalize();
  return 0;
}
