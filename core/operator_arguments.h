// Where the calls of an operator have their arguments: the column `arguments` of operators.def.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/value.h"

namespace reprise {

// Words separated by spaces: `q=1`: argument 1 is q; `c=2?1`: argument 2 is c, and 1 where it is
// absent or None (`inf`, `most`: infinity, the largest finite double; with a sign); `op=add`: a
// word; `adaptive`: a mark. A key may stand more than once.
class ArgumentPlaces {
 public:
  explicit ArgumentPlaces(std::string_view text);

  // Of the operator's row; of an in-place operator without any, those of the operator without the
  // underscore. None where the operator has no row. Valid as long as the program runs.
  [[nodiscard]] static const ArgumentPlaces& Of(std::string_view op);

  [[nodiscard]] bool empty() const { return places_.empty(); }
  // There is such a key, with or without a place.
  [[nodiscard]] bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // The place of the key; -1 if it has none.
  [[nodiscard]] int At(std::string_view key) const;
  [[nodiscard]] std::vector<int> All(std::string_view key) const;
  // What the key stands for where the argument is absent; nothing: the argument is required.
  [[nodiscard]] std::optional<double> Default(std::string_view key) const;
  // What follows the key's `=`; empty if there is no such key.
  [[nodiscard]] std::string_view Word(std::string_view key) const;

  // The argument if it is a defined tensor; nullptr otherwise.
  [[nodiscard]] const TensorDesc* Tensor(const OpCall& call, std::string_view key) const;
  // The argument if it is a number; `absent` otherwise.
  [[nodiscard]] double Number(const OpCall& call, std::string_view key, double absent) const;
  // The argument if it is a list of integers, or one; empty otherwise.
  [[nodiscard]] std::vector<std::int64_t> Ints(const OpCall& call, std::string_view key) const;

 private:
  struct Place {
    std::string_view key, word;
    int at = -1;
    std::optional<double> absent;
  };
  [[nodiscard]] const Place* Find(std::string_view key) const;

  std::vector<Place> places_;  // text is the table's: it lives as long as the program
};

}  // namespace reprise
