// The operator table: all facts about each recorded operator, in core/operators/*.cc, for all
// folders. The folders map the rules to their functions. Only code that reads rows includes this
// header.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/operator_arguments.h"
#include "core/operators.h"

namespace reprise {

enum class CostRule : std::uint8_t {
  kNone,  // FLOPs and bytes are estimated from the operands
#define COST_RULE(name) k##name,
#include "core/operator_rules.def"
};

enum class ResultRule : std::uint8_t {
  kNone,  // results are not inferred, except those of in-place operators
#define RESULT_RULE(name) k##name,
#include "core/operator_rules.def"
};

enum class BoundRule : std::uint8_t {
  kNone,  // no argument is an index
#define BOUND_RULE(name) k##name,
#include "core/operator_rules.def"
};

// What PyTorch's library is called with: words of kernels/torch/torch_operators.h, one an overload.
// Text that is malformed does not compile.
struct TorchSignature {
  constexpr TorchSignature() = default;
  // Implicit, so that a row can say `.signature = "(TT)1"`.
  consteval TorchSignature(const char* words);  // NOLINT(google-explicit-constructor)

  std::string_view text;
};

struct OperatorRow {
  std::string_view name;  // a trailing `*` matches by prefix
  OpInfo info = {};       // the group's; so are kernels and cost where a row has none
  // Names of the kernels that run it, separated by spaces. The first of kernels/builtin.def that
  // supports a call runs it.
  std::string_view kernels = {};
  ArgumentPlaces arguments = {};
  CostRule cost = CostRule::kNone;
  ResultRule result = ResultRule::kNone;
  BoundRule bounds = BoundRule::kNone;
  TorchSignature signature = {};
  // There is an in-place operator too, named with an underscore at the end. It has a row of its own
  // in OperatorRows(), equal but for the result, which follows without a rule, and this signature.
  bool in_place = false;
  std::optional<TorchSignature> in_place_signature = std::nullopt;  // nothing: the same
};

// Rows with the same class and kind.
struct OperatorGroup {
  OpInfo info;
  std::string_view kernels = {};    // of rows that name none
  CostRule cost = CostRule::kNone;  // of rows that name none
  bool in_place = false;            // of all rows and names
  std::span<const OperatorRow> rows = {};
  std::span<const std::string_view> names = {};  // operators without facts of their own
};

// One function a file of core/operators/.
namespace operator_groups {
std::span<const OperatorGroup> Products();
std::span<const OperatorGroup> Attention();
std::span<const OperatorGroup> Convolutions();
std::span<const OperatorGroup> Norms();
std::span<const OperatorGroup> Elementwise();
std::span<const OperatorGroup> Reductions();
std::span<const OperatorGroup> Indexing();
std::span<const OperatorGroup> Copies();
std::span<const OperatorGroup> Pools();
std::span<const OperatorGroup> Optimizers();
std::span<const OperatorGroup> Others();
}  // namespace operator_groups

// All rows, those of in-place operators included.
[[nodiscard]] std::span<const OperatorRow> OperatorRows();

// The row of an operator: exact name, else longest listed prefix, else nullptr.
[[nodiscard]] const OperatorRow* FindOperatorRow(std::string_view name);

consteval TorchSignature::TorchSignature(const char* words) : text(words) {
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size() < rest.size() ? word.size() + 1 : word.size());
    word.remove_prefix(word.starts_with("cpu:") ? 4 : word.starts_with("cuda:") ? 5 : 0);
    const std::size_t open = word.find('(');
    const std::size_t close = word.find(')');
    if (open == word.npos || close == word.npos || close < open || close + 2 > word.size()) {
      throw "signature: expected `.overload(arguments)results`";
    }
    const std::string_view results = word.substr(close + 1);
    if (results.find_first_not_of(results.size() == 1 ? "0123456789" : "Ti") != results.npos) {
      throw "signature: the results are one digit, or a letter each";
    }
    if (open > 0 && word.front() != '.' && word.front() != '!') {
      throw "signature: an overload starts with `.`, a function with `!`";
    }
    if (word.substr(open + 1, close - open - 1).find_first_not_of("TNLUifbsdgIBS?") != word.npos) {
      throw "signature: unknown letter of an argument";
    }
  }
}

}  // namespace reprise
