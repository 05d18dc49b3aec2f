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
// unpacked at the end, so that programs see dense operands only.
class RowLowering {
 public:
  RowLowering(const LowerContext& context, std::string program);

  // Macros of the next launches' program.
  using Types = std::vector<std::pair<const char*, DType>>;
  // Fails if the device lacks a dtype.
  [[nodiscard]] Status UseTypes(const Types& types, DType accumulator);
  void UseBits(DType elements, DType index);
  // One macro more, up to the next UseTypes or UseBits.
  void Define(const char* macro, const std::string& value);
  // Another program file from here on.
  void UseProgram(std::string program) { program_ = std::move(program); }

  [[nodiscard]] Result<DenseOperand> Read(const TensorDesc& view);
  // Written wholly.
  [[nodiscard]] Result<DenseOperand> Write(const TensorDesc& view);
  // Read and written.
  [[nodiscard]] Result<DenseOperand> Update(const TensorDesc& view);
  [[nodiscard]] Result<DenseOperand> Scratch(std::int64_t bytes);
  // An operand if there is a tensor, else `stand_in`, which the program does not access.
  [[nodiscard]] Result<DenseOperand> ReadOr(const TensorDesc* view, DenseOperand stand_in);
  [[nodiscard]] Result<DenseOperand> WriteOr(const TensorDesc* view, DenseOperand stand_in);
  // Element by element, from one view to another of the same shape.
  [[nodiscard]] Status Copy(const TensorDesc& from, const TensorDesc& to);

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

  [[nodiscard]] std::vector<Launch> Take() &&;

 private:
  static void Append(DeviceKernel& kernel, const DenseOperand& operand) {
    kernel.args.emplace_back(operand.buffer);
    kernel.args.emplace_back(operand.offset);
  }
  static void Append(DeviceKernel& kernel, std::int64_t value) { kernel.args.emplace_back(value); }
  static void Append(DeviceKernel& kernel, std::int32_t value) { kernel.args.emplace_back(value); }
  static void Append(DeviceKernel& kernel, float value) { kernel.args.emplace_back(value); }
  static void Append(DeviceKernel& kernel, bool value) {
    kernel.args.emplace_back(static_cast<std::int32_t>(value));
  }

  DeviceKernel& Start(const char* entry);
  void SetGroups(DeviceKernel& kernel, std::int64_t groups);
  void DropIfEmpty();
  [[nodiscard]] Result<Launch> Repack(const TensorDesc& from, Buffer* from_buffer,
                                      const TensorDesc& to, Buffer* to_buffer) const;
  [[nodiscard]] Result<DenseOperand> Dense(const TensorDesc& view, bool read, bool write);

  const LowerContext& context_;
  std::string program_;
  std::string options_;
  std::int64_t group_size_ = 1;
  int next_slot_ = 0;
  std::vector<Launch> launches_;
  std::vector<Launch> unpacking_;
};

}  // namespace reprise
