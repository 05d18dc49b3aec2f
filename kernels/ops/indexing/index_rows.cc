#include "kernels/ops/indexing/index_rows.h"

#include <algorithm>

namespace reprise {
namespace {

// Table rows of one work-group: each group goes through all indices, so on a CPU few groups do.
constexpr std::int64_t kGpuBlock = 64;

std::int64_t BlockRows(const RowLowering& rows, const IndexRows& job) {
  const std::int64_t units = std::max(1, rows.device().compute_units);
  if (rows.device().is_cpu) {
    const std::int64_t groups = std::max<std::int64_t>(1, 2 * units / job.batch);
    return std::max<std::int64_t>(1, (job.table_rows + groups - 1) / groups);
  }
  const std::int64_t spread = job.batch * job.table_rows / (units * 4);
  return std::clamp<std::int64_t>(spread, 1, kGpuBlock);
}

}  // namespace

void AppendReadRows(RowLowering& rows, const IndexRows& job, DType dtype) {
  rows.UseProgram("index_read.cl");
  rows.UseBits(dtype, job.index_type);
  const auto& i = job.index;
  const auto& e = job.extents;
  const std::int64_t lines = job.batch * job.count;
  const auto launch = [&](auto&& run) {
    run("read_rows", job.table, job.rows, i[0], i[1], i[2], i[3], e[0], e[1], e[2], e[3], job.batch,
        job.table_rows, job.count, job.width);
  };
  if (rows.device().is_cpu) {
    launch([&](const char* entry, auto... args) {
      rows.LaunchRows(entry, lines, static_cast<double>(job.width) + 4, args...);
    });
  } else {
    launch([&](const char* entry, auto... args) {
      rows.LaunchItems(entry, lines * job.width, args...);
    });
  }
}

void AppendWriteRows(RowLowering& rows, const IndexRows& job, DType dtype, IndexWrite mode) {
  rows.UseProgram("index_write.cl");
  rows.UseTypes({{"X", dtype}, {"I", job.index_type}}, AccumulatorOf(dtype));
  const std::int64_t block = BlockRows(rows, job);
  const std::int64_t groups = job.batch * ((job.table_rows + block - 1) / block);
  const double work = static_cast<double>(job.count * job.width + block * job.width);
  const auto& i = job.index;
  const auto& e = job.extents;
  rows.LaunchRows("write_rows", groups, work, job.table, job.rows, i[0], i[1], i[2], i[3], e[0],
                  e[1], e[2], e[3], job.batch, job.table_rows, job.count, job.width, block,
                  job.skip, static_cast<float>(job.alpha), static_cast<std::int32_t>(mode),
                  job.clear);
}

}  // namespace reprise
