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

Status RowLowering::UseTypes(const Types& types, DType accumulator) {
  options_ = fmt::format("-DV={} -DL={}", vector_width(), group_size());
  options_ += TypeOption("ACC_NAME", accumulator);
  for (const auto& [macro, dtype] : types) {
    options_ += TypeOption(macro, dtype);
    if (!DeviceHasType(dtype, device())) {
      return EnvironmentError(device().name + " has no " + std::string(Name(dtype)));
    }
  }
  return {};
}

void RowLowering::UseBits(DType elements, DType index) {
  options_ = fmt::format("-DV={} -DL={}", vector_width(), group_size());
  options_ += BitsOption(elements) + TypeOption("I", index);
}

void RowLowering::Define(const char* macro, const std::string& value) {
  options_ += fmt::format(" -D{}={}", macro, value);
}

Result<DenseOperand> RowLowering::Read(const TensorDesc& view) { return Dense(view, true, false); }
Result<DenseOperand> RowLowering::Write(const TensorDesc& view) { return Dense(view, false, true); }
Result<DenseOperand> RowLowering::Update(const TensorDesc& view) { return Dense(view, true, true); }

Result<DenseOperand> RowLowering::ReadOr(const TensorDesc* view, DenseOperand stand_in) {
  return view == nullptr ? Result<DenseOperand>(stand_in) : Read(*view);
}
Result<DenseOperand> RowLowering::WriteOr(const TensorDesc* view, DenseOperand stand_in) {
  return view == nullptr ? Result<DenseOperand>(stand_in) : Write(*view);
}

Result<DenseOperand> RowLowering::Scratch(std::int64_t bytes) {
  REPRISE_ASSIGN(Buffer* const buffer,
                 context_.scratch(next_slot_++, std::max<std::int64_t>(bytes, 8)));
  return DenseOperand{buffer, 0};
}

Result<DenseOperand> RowLowering::Dense(const TensorDesc& view, bool read, bool write) {
  REPRISE_ASSIGN(Buffer* const buffer, BufferOf(view, context_));
  if (IsContiguous(view) || Count(view) == 0) {
    return DenseOperand{buffer, view.offset};
  }
  REPRISE_ASSIGN(const DenseOperand packed, Scratch(Count(view) * SizeOf(view.dtype)));
  TensorDesc dense = view;
  dense.offset = 0;
  dense.strides = ContiguousStrides(view.shape);
  if (read) {
    REPRISE_ASSIGN(Launch launch, Repack(view, buffer, dense, packed.buffer));
    launches_.push_back(std::move(launch));
  }
  if (write) {
    REPRISE_ASSIGN(Launch launch, Repack(dense, packed.buffer, view, buffer));
    unpacking_.push_back(std::move(launch));
  }
  return packed;
}

Status RowLowering::Copy(const TensorDesc& from, const TensorDesc& to) {
  if (Count(from) == 0) {
    return {};
  }
  REPRISE_ASSIGN(Buffer* const source, BufferOf(from, context_));
  REPRISE_ASSIGN(Buffer* const target, BufferOf(to, context_));
  REPRISE_ASSIGN(Launch launch, Repack(from, source, to, target));
  launches_.push_back(std::move(launch));
  return {};
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

std::vector<Launch> RowLowering::Take() && {
  for (Launch& launch : unpacking_) {
    launches_.push_back(std::move(launch));
  }
  return std::move(launches_);
}

}  // namespace reprise
