#include "kernels/ops/common/row_lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/non_temporal_store.h"

namespace reprise {
namespace {

// Elements that make a CPU work-group worth its start, and how many groups a core gets.
constexpr double kCpuGroupWork = 4096;
constexpr std::int64_t kCpuGroupsPerCore = 4;
constexpr std::int64_t kGpuGroupSize = 256;
// Rows beyond this many groups are taken in blocks.
constexpr std::int64_t kMaxGpuGroups = std::int64_t{1} << 20;

std::size_t UnsignedSize(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace

DType AccumulatorOf(DType dtype) {
  if (IsIntegral(dtype)) {
    return DType::kInt64;
  }
  return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

std::string BitsOption(DType dtype) {
  switch (SizeOf(dtype)) {
    case 1:
      return " -DT=uchar";
    case 2:
      return " -DT=ushort";
    case 4:
      return " -DT=uint";
    default:
      return " -DT=ulong";
  }
}

bool IsFloatKernelType(DType dtype) { return IsKernelType(dtype) && IsFloating(dtype); }
bool IsIndexType(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; }

RowLowering::RowLowering(const LowerContext& context, std::string program)
    : context_(context), program_(std::move(program)) {
  if (!device().is_cpu) {
    const auto limit = static_cast<std::int64_t>(device().max_work_group_size);
    group_size_ = limit >= kGpuGroupSize ? kGpuGroupSize : std::min<std::int64_t>(limit, 64);
  }
}

void RowLowering::UseTypes(const Types& types, DType accumulator) {
  options_ = fmt::format("-DV={} -DL={}", vector_width(), group_size());
  options_ += TypeOption("ACC_NAME", accumulator);
  for (const auto& [macro, dtype] : types) {
    options_ += TypeOption(macro, dtype);
    if (status_) {
      status_ = CheckHasType(dtype, device());
    }
  }
}

void RowLowering::UseBits(DType elements, DType index) {
  options_ = fmt::format("-DV={} -DL={}", vector_width(), group_size());
  options_ += BitsOption(elements) + TypeOption("I", index);
}

void RowLowering::Define(const char* macro, const std::string& value) {
  options_ += fmt::format(" -D{}={}", macro, value);
}

DenseOperand RowLowering::Scratch(std::int64_t bytes) {
  return {ValueOf(context_.scratch(next_slot_++, std::max<std::int64_t>(bytes, 8))), 0};
}

DenseOperand RowLowering::Dense(const TensorDesc& view, bool read, bool write) {
  Buffer* const buffer = BufferFor(view);
  if (IsContiguous(view) || Count(view) == 0) {
    return {buffer, view.offset};
  }
  const DenseOperand packed = Scratch(Count(view) * SizeOf(view.dtype));
  TensorDesc dense = view;
  dense.offset = 0;
  dense.strides = ContiguousStrides(view.shape);
  if (read) {
    Append(Repack(view, buffer, dense, packed.buffer));
  }
  if (write) {
    unpacking_.push_back(ValueOf(Repack(dense, packed.buffer, view, buffer)));
  }
  return packed;
}

void RowLowering::Copy(const TensorDesc& from, const TensorDesc& to) {
  if (Count(from) > 0) {
    Append(Repack(from, BufferFor(from), to, BufferFor(to)));
  }
}

void RowLowering::Append(Result<Launch> launch) { launches_.push_back(ValueOf(std::move(launch))); }

void RowLowering::Append(Result<std::vector<Launch>> launches) {
  for (Launch& launch : ValueOf(std::move(launches))) {
    launches_.push_back(std::move(launch));
  }
}

void RowLowering::Finish() {
  std::move(unpacking_.begin(), unpacking_.end(), std::back_inserter(launches_));
  unpacking_.clear();
  next_slot_ = 0;
}

Result<Launch> RowLowering::Repack(const TensorDesc& from, Buffer* from_buffer,
                                   const TensorDesc& to, Buffer* to_buffer) const {
  const std::int64_t element = SizeOf(from.dtype);
  if (IsContiguous(from) && IsContiguous(to)) {
    return DeviceCopy{to_buffer, to.offset * element, from_buffer, from.offset * element,
                      Count(from) * element};
  }
  const std::array<const TensorDesc*, 2> operands = {&from, &to};
  const std::optional<IndexSpace> space = MakeIndexSpace(from.shape, operands);
  if (!space) {
    return UsageError("a tensor of more dimensions than kernels can walk");
  }
  DeviceKernel kernel;
  kernel.program = "repack.cl";
  kernel.entry = "repack";
  kernel.options = BitsOption(from.dtype);
  kernel.args = {from_buffer, to_buffer, StructArg(*space)};
  SetItemsLaunch(kernel, space->count, device());
  return kernel;
}

DeviceKernel& RowLowering::Start(const char* entry) {
  DeviceKernel kernel;
  kernel.program = program_;
  kernel.entry = entry;
  kernel.options = options_;
  launches_.emplace_back(std::move(kernel));
  return std::get<DeviceKernel>(launches_.back());
}

std::int64_t RowLowering::RowGroups(std::int64_t rows, double work) const {
  if (!device().is_cpu) {
    return std::min(rows, kMaxGpuGroups);
  }
  const auto worth = static_cast<std::int64_t>(static_cast<double>(rows) * work / kCpuGroupWork);
  const std::int64_t most = std::max(1, device().compute_units) * kCpuGroupsPerCore;
  return std::min(rows, std::clamp<std::int64_t>(worth, 1, most));
}

void RowLowering::SetGroups(DeviceKernel& kernel, std::int64_t groups) {
  kernel.global = {UnsignedSize(groups * group_size_), 1, 1};
  kernel.local = {UnsignedSize(group_size_), 1, 1};
  DropIfEmpty();
}

void RowLowering::DropIfEmpty() {
  if (std::get<DeviceKernel>(launches_.back()).global[0] == 0) {
    launches_.pop_back();
  }
}

std::int32_t RowLowering::NonTemporal(const TensorDesc& result) const {
  constexpr std::int32_t kNonTemporal = 256;
  const bool non_temporal =
      device().is_cpu && NonTemporalStore(Count(result) * SizeOf(result.dtype)).non_temporal();
  return non_temporal ? kNonTemporal : 0;
}

std::int32_t RowLowering::LanesFor(std::int64_t n) const {
  std::int64_t lanes = 1;
  while (lanes < group_size_ && lanes * vector_width() < n) {
    lanes *= 2;
  }
  return static_cast<std::int32_t>(lanes);
}

Result<std::vector<Launch>> RowLowering::Take() && {
  Finish();
  if (!status_) {
    return tl::unexpected(status_.error());
  }
  return std::move(launches_);
}

}  // namespace reprise
