// What of PyTorch's operators can be called, and with which arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/operator_table.h"
#include "core/value.h"
#include "kernels/torch/torch_library.h"

namespace reprise {

// Functions that take numbers as double.
enum class TorchForm : std::uint8_t {
  kDispatched,     // no such function: the dispatcher
  kProductInto,    // out, self, a, b, beta, alpha
  kTwoTensors,     // self, other, alpha -> result
  kOneTensor,      // self, number -> result
  kNumberInPlace,  // self, number
};

// `signature` of an operator's row: what PyTorch's dispatcher does for us, one word for
// each overload: `.name(arguments)results`, without `.name` for the overload that has none. Before
// it `cpu:` or `cuda:` where only that kind of device has the operator (HIP's is called cuda, too);
// `results` counts tensors, or has a letter for each result. `!function(arguments)results`: numbers
// of any type (at::Scalar) do not pass the dispatcher's C interface, but functions of their own
// take some. Facts of PyTorch's aten/src/ATen/native/native_functions.yaml and
// torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h, c_shim_cuda.h.
//
// Letters of the arguments: T tensor, N tensor that may be undefined, L list of tensors, U list of
// indices or none, i integer, f floating, b bool, s string, d dtype, g generator (always the
// default one), I integers, B bools, S a number of any type; ? after one that may be missing.
struct TorchOperator {
  std::string name;
  std::string overload;  // or the function of a form
  std::string device;    // TorchDevice::kind; empty: any
  std::string arguments;
  std::string results;  // T or i for each
  TorchForm form = TorchForm::kDispatched;
};

// The overloads of a row's signature; nothing if it has a function of arguments that no form has.
[[nodiscard]] std::optional<std::vector<TorchOperator>> ParseTorchSignature(
    std::string_view name, TorchSignature signature);

// The entry that takes the call's arguments and makes its results; nullptr if none does, or the
// call is not one of the library's device.
[[nodiscard]] const TorchOperator* FindTorchOperator(const TorchLibrary& library,
                                                     const OpCall& call);
// The function of its form; nullptr for what is dispatched, or where the library has it not.
[[nodiscard]] auto TorchFunctionOf(const TorchLibrary& library, const TorchOperator& op)
    -> void (*)();

// Nothing, or a tensor that is not defined.
[[nodiscard]] inline bool IsMissing(const Value& value) {
  return value.IsNone() || (value.AsTensor() != nullptr && !value.AsTensor()->IsDefined());
}

// Calls visit(kind, optional, value) for each argument until it is false; false if it was, or if
// there are more or fewer arguments.
template <typename Visit>
bool WalkArguments(const TorchOperator& op, const ValueList& inputs, Visit&& visit) {
  std::size_t i = 0;
  for (const char* at = op.arguments.c_str(); *at != '\0'; ++at) {
    const char kind = *at;
    const bool optional = at[1] == '?';
    at += optional ? 1 : 0;
    if (i == inputs.size() || !visit(kind, optional, inputs[i++])) {
      return false;
    }
  }
  return i == inputs.size();
}

}  // namespace reprise
