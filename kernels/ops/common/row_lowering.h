// What the kernels of rows.cl's programs share: dense operands, program options, launch sizes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device_lowering.h"
#include "kernels/views.h"

namespace reprise {

// A dense row-major operand as rows.cl's programs take it: two arguments, the offset in elements.
struct DenseOperand {
  Buffer* buffer = nullptr;
  std::int64_t offset = 0;
};

// The dtype that programs compute in: float64, int64 for integers and bool, else float32.
[[nodiscard]] DType AccumulatorOf(DType dtype);
// "-DT=uint": for programs that move elements without computing with them.
[[nodiscard]] std::string BitsOption(DType dtype);
// Floating dtypes that kernels have.
[[nodiscard]] bool IsFloatKernelType(DType dtype);
// int32 or int64: the dtype of indices.
[[nodiscard]] bool IsIndexType(DType dtype);

// Collects the launches of one call. Tensors that are not dense are packed into scratch first and
// unpacked at the end, so that programs see dense operands only. The first failure is kept: Take()
// returns it, and what is called in between has no effect.
class RowLowering {
 public:
  RowLowering(const LowerContext& context, std::string program);

  // Macros of the next launches' program.
  using Types = std::vector<std::pair<const char*, DType>>;
  // Fails if the device lacks a dtype.
  void UseTypes(const Types& types, DType accumulator);
  void UseBits(DType elements, DType index);
  // One macro more, up to the next UseTypes or UseBits.
  void Define(const char* macro, const std::string& value);
  // Another program file from here on.
  void UseProgram(std::string program) { program_ = std::move(program); }

  [[nodiscard]] DenseOperand Read(const TensorDesc& view) { return Dense(view, true, false); }
  // Written wholly.
  [[nodiscard]] DenseOperand Write(const TensorDesc& view) { return Dense(view, false, true); }
  // Read and written.
  [[nodiscard]] DenseOperand Update(const TensorDesc& view) { return Dense(view, true, true); }
  [[nodiscard]] DenseOperand ReadOrWrite(const TensorDesc& view, bool write) {
    return write ? Write(view) : Read(view);
  }
  [[nodiscard]] DenseOperand Scratch(std::int64_t bytes);
  // An operand if there is a tensor, else `stand_in`, which the program does not access.
  [[nodiscard]] DenseOperand ReadOr(const TensorDesc* view, DenseOperand stand_in) {
    return view == nullptr ? stand_in : Read(*view);
  }
  [[nodiscard]] DenseOperand WriteOr(const TensorDesc* view, DenseOperand stand_in) {
    return view == nullptr ? stand_in : Write(*view);
  }
  [[nodiscard]] DenseOperand UpdateOr(const TensorDesc* view, DenseOperand stand_in) {
    return view == nullptr ? stand_in : Update(*view);
  }
  // Element by element, from one view to another of the same shape.
  void Copy(const TensorDesc& from, const TensorDesc& to);
  // The tensor's buffer, for programs that take strides.
  [[nodiscard]] Buffer* BufferFor(const TensorDesc& tensor) {
    return ValueOf(BufferOf(tensor, context_));
  }
  // Appends launches that other functions have made.
  void Append(Result<Launch> launch);
  void Append(Result<std::vector<Launch>> launches);
  // Unpacks what has been written so far; operands and scratch from before are not used again.
  void Finish();

  // One work-group a row (GPU), blocks of rows worth `work` elements each (CPU).
  template <typename... Args>
  void LaunchRows(const char* entry, std::int64_t rows, double work, Args... args) {
    DeviceKernel& kernel = Start(entry);
    (Append(kernel, args), ...);
    SetGroups(kernel, RowGroups(rows, work));
  }
  // The work-groups of such a launch.
  [[nodiscard]] std::int64_t RowGroups(std::int64_t rows, double work) const;
  // Items walked with FIRST, LAST, STEP.
  template <typename... Args>
  void LaunchItems(const char* entry, std::int64_t items, Args... args) {
    DeviceKernel& kernel = Start(entry);
    (Append(kernel, args), ...);
    SetItemsLaunch(kernel, items, context_.device);
    DropIfEmpty();
  }
  // Exactly that many work-groups.
  template <typename... Args>
  void LaunchGroups(const char* entry, std::int64_t groups, Args... args) {
    DeviceKernel& kernel = Start(entry);
    (Append(kernel, args), ...);
    SetGroups(kernel, groups);
  }

  [[nodiscard]] const LowerContext& context() const { return context_; }
  [[nodiscard]] const DeviceInfo& device() const { return context_.device; }
  // V and L of rows.cl.
  [[nodiscard]] std::int64_t vector_width() const { return device().is_cpu ? 16 : 4; }
  [[nodiscard]] std::int64_t group_size() const { return group_size_; }
  // Columns that one work-group of a column program takes.
  [[nodiscard]] std::int64_t columns_per_group() const {
    return vector_width() * (group_size_ > 1 ? 8 : 1);
  }
  // NON_TEMPORAL of rows.cl if the result should be stored so, else 0: for a kernel's flags.
  [[nodiscard]] std::int32_t NonTemporal(const TensorDesc& result) const;
  // `lanes` of rows.cl's spans of n elements.
  [[nodiscard]] std::int32_t LanesFor(std::int64_t n) const;

  [[nodiscard]] Result<std::vector<Launch>> Take() &&;

 private:
  static void Append(DeviceKernel& kernel, const DenseOperand& operand) {
    kernel.args.emplace_back(operand.buffer);
    kernel.args.emplace_back(operand.offset);
  }
  template <typename T>
  static void Append(DeviceKernel& kernel, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      kernel.args.emplace_back(static_cast<std::int32_t>(value));
    } else {
      kernel.args.emplace_back(value);
    }
  }

  DeviceKernel& Start(const char* entry);
  void SetGroups(DeviceKernel& kernel, std::int64_t groups);
  void DropIfEmpty();
  [[nodiscard]] Result<Launch> Repack(const TensorDesc& from, Buffer* from_buffer,
                                      const TensorDesc& to, Buffer* to_buffer) const;
  [[nodiscard]] DenseOperand Dense(const TensorDesc& view, bool read, bool write);
  // The value, or a default one where there is none; the error is kept.
  template <typename T>
  T ValueOf(Result<T> result) {
    if (!result && status_) {
      status_ = tl::unexpected(result.error());
    }
    return result ? std::move(*result) : T{};
  }

  const LowerContext& context_;
  std::string program_;
  std::string options_;
  std::int64_t group_size_ = 1;
  int next_slot_ = 0;
  Status status_;
  std::vector<Launch> launches_;
  std::vector<Launch> unpacking_;
};

}  // namespace reprise
