// What of PyTorch's operators the host backend can call, and with which arguments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/value.h"
#include "kernels/host/torch_library.h"

namespace reprise {

// Functions that take numbers as double.
enum class TorchForm : std::uint8_t {
  kDispatched,     // no such function: the dispatcher
  kProductInto,    // out, self, a, b, beta, alpha
  kTwoTensors,     // self, other, alpha -> result
  kOneTensor,      // self, number -> result
  kNumberInPlace,  // self, number
};

// Letters of the arguments: T tensor, L list of tensors, U list of indices or none, i integer,
// f floating, b bool, s string, d dtype, g generator (always the default one), I integers, B bools,
// S a number of any type; ? after one that may be missing.
struct TorchOperator {
  const char* name;
  const char* overload;  // or the function of a form
  const char* arguments;
  std::size_t results;
  TorchForm form;
};

// The entry that takes the call's arguments and makes its results; nullptr if none does, or the
// call is not one of a CPU.
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
  for (const char* at = op.arguments; *at != '\0'; ++at) {
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
