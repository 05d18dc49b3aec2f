// Every registered kernel against its Reference on every registered backend, by the kernel's own
// samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>

#include "core/costs/cost.h"
#include "core/operator_table.h"
#include "kernels/backend.h"
#include "kernels/samples.h"
#include "kernels/torch/torch_operators.h"
#include "tests/every_nth.h"
#include "tests/kernels/harness.h"
#include "tests/skip.h"

namespace reprise {
namespace {

class Conformance : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const Kernel& kernel() {
    return *KernelRegistry::Builtin().all()[GetParam()];
  }
};

TEST_P(Conformance, SamplesCoverEveryOperator) {
  std::set<std::string_view> uncovered(kernel().operators().begin(), kernel().operators().end());
  EXPECT_FALSE(kernel().Samples().empty());
  for (const OpCall& call : kernel().Samples()) {
    EXPECT_TRUE(kernel().Supports(call)) << Describe(call);
    EXPECT_NE(KernelRegistry::Builtin().Find(call), nullptr) << Describe(call);
    uncovered.erase(call.name);
  }
  EXPECT_TRUE(uncovered.empty()) << "no sample of " << *uncovered.begin();
}

// Classes that compute; others move, and may compare or add.
bool Computes(const OpCall& call) {
  switch (FindOperator(call.name)->op_class) {
    case OpClass::kAttention:
    case OpClass::kConv:
    case OpClass::kElementwise:
    case OpClass::kGemm:
    case OpClass::kLoss:
    case OpClass::kNorm:
    case OpClass::kOptimizer:
    case OpClass::kReduction:
    case OpClass::kSoftmax:
      return !call.name.starts_with("aten::_foreach_copy_") &&
             !call.name.starts_with("aten::_foreach_zero_");
    case OpClass::kSort:
      return ElementCount(call.InputTensor(0)->shape) > 1;
    default:
      return false;
  }
}

TEST_P(Conformance, SamplesHaveACost) {
  for (const OpCall& call : kernel().Samples()) {
    EXPECT_TRUE(HasCostRule(call)) << Describe(call);
    const Cost cost = CostOf(call);
    bool empty = false;
    for (const ValueList* values : {&call.inputs, &call.outputs}) {
      for (const TensorDesc* tensor : TensorsIn(*values)) {
        empty |= ElementCount(tensor->shape) == 0;
      }
    }
    EXPECT_GE(cost.flops, 0) << Describe(call);
    EXPECT_TRUE(empty || cost.bytes > 0) << Describe(call);
    EXPECT_TRUE(empty || !Computes(call) || cost.flops > 0) << Describe(call);
  }
}

TEST_P(Conformance, ReferenceWritesSomething) {
  std::set<std::string> unchanged;
  std::set<std::string> changed;
  for (const OpCall& call : kernel().Samples()) {
    CallMemory before(call);
    CallMemory after(call);
    const Status status = kernel().Reference(call, after);
    ASSERT_TRUE(status) << Describe(call) << ": " << status.error().message;
    const bool same =
        std::all_of(before.storages.begin(), before.storages.end(), [&](const auto& entry) {
          return entry.second.bytes == after.storages.at(entry.first).bytes;
        });
    (same ? unchanged : changed).insert(call.name);
  }
  for (const std::string& name : unchanged) {
    EXPECT_TRUE(changed.contains(name)) << name << " changes no sample's memory";
  }
}

std::string KernelName(std::size_t i) {
  return std::string(KernelRegistry::Builtin().all()[i]->name());
}

// Oclgrind takes a second for some 50,000 FLOPs of an attention. It lacks an instruction, llvm.abs,
// that the compiler puts into element-wise programs of integers.
bool MaySimulate(const Kernel& kernel, const OpCall& call) {
  constexpr double kMaxFlops = 100'000;
  if (kernel.name() == "elementwise") {
    const auto tensors = TensorsIn(call.inputs);
    return tensors.empty() || IsFloating(tensors.front()->dtype) ||
           tensors.front()->dtype == DType::kBool;
  }
  const std::set<std::string_view> multiply = {"gemm", "attention", "convolution"};
  return !multiply.contains(kernel.name()) || CostOf(call).flops <= kMaxFlops;
}

class ConformanceOn : public testing::TestWithParam<std::tuple<std::string, std::size_t>> {};

TEST_P(ConformanceOn, MatchesReference) {
  const auto& [backend, i] = GetParam();
  std::string why;
  Device* device = TestDevice(backend, &why);
  if (device == nullptr) {
    REPRISE_SKIP(backend, why);
  }
  const bool simulated = device->info().name.find("Oclgrind") != std::string::npos;
  const Kernel& kernel = *KernelRegistry::Builtin().all()[i];
  CallRunner runner(*device);
  int compared = 0;
  // Oclgrind, and compiling for the stand-in for CUDA, take minutes for all.
  for (const OpCall& call : EveryNth(kernel.Samples(), simulated ? 2 : backend == "cuda" ? 3 : 1)) {
    if (!simulated || MaySimulate(kernel, call)) {
      SCOPED_TRACE(Describe(call));
      const std::string mismatch = Mismatch(runner, kernel, call);
      if (!device->info().fp64 && mismatch.find("has no float64") != std::string::npos) {
        continue;  // ParsedKernel.LoweringFailsWhereTheDeviceLacksADtype has which calls may say so
      }
      EXPECT_EQ(mismatch, "");
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Builtin, ConformanceOn,
    testing::Combine(testing::ValuesIn(BackendNames()),
                     testing::Range<std::size_t>(0, KernelRegistry::Builtin().all().size())),
    [](const auto& info) {
      return std::get<0>(info.param) + "_" + KernelName(std::get<1>(info.param));
    });

// A kernel's loops take the factor as a number. A tensor's is not known before the run, so such a
// call may not count as real work.
TEST(Foreach, DoesNotTakeItsFactorsFromATensor) {
  samples::SampleTensors t;
  const auto list = [&t] { return samples::Tensors({t.Tensor(DType::kFloat32, {7})}); };
  for (const char* name : {"aten::_foreach_addcmul_", "aten::_foreach_addcdiv_"}) {
    OpCall call{name, {list(), list(), list(), Value{0.5}}, {}};
    EXPECT_NE(KernelRegistry::Builtin().Find(call), nullptr) << name;
    call.inputs[3] = Value{t.Tensor(DType::kFloat32, {1})};
    EXPECT_EQ(KernelRegistry::Builtin().Find(call), nullptr) << name;
  }
}

TEST(KernelRegistry, OperatorRowsNameKernels) {
  std::set<std::string_view> kernels;
  for (const auto& kernel : KernelRegistry::Builtin().all()) {
    kernels.insert(kernel->name());
    EXPECT_FALSE(kernel->operators().empty()) << kernel->name() << " is in no row";
  }
  for (const OperatorRow& row : OperatorRows()) {
    std::istringstream names{std::string(row.kernels)};
    for (std::string name; names >> name;) {
      EXPECT_TRUE(kernels.contains(name)) << row.name << ": no kernel " << name;
    }
    EXPECT_TRUE(ParseTorchSignature(row.name, row.signature))
        << row.name << ": " << row.signature.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, Conformance,
                         testing::Range<std::size_t>(0, KernelRegistry::Builtin().all().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return KernelName(info.param);
                         });

}  // namespace
}  // namespace reprise
