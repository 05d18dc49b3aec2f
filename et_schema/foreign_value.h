// The value of a foreign attribute with the interface of RawAttribute. Only et_schema sees this.
#pragma once

#include <string_view>
#include <vector>

#include "et_schema/foreign.h"

namespace reprise {

// Views point into `attribute`, which must outlive this.
class ForeignValue {
 public:
  explicit ForeignValue(const ForeignAttribute& attribute) : value_(attribute.value) {}

  // An integer or a boolean.
  [[nodiscard]] bool AsInt(std::int64_t& out) const {
    if (const auto* flag = std::get_if<bool>(&value_)) {
      out = *flag ? 1 : 0;
      return true;
    }
    return Take<std::int64_t>(out);
  }
  [[nodiscard]] bool AsDouble(double& out) const { return Take<double>(out); }
  [[nodiscard]] bool AsText(std::string_view& out) const { return Take<std::string>(out); }
  // A list of no numbers is one of integers too.
  [[nodiscard]] bool AsInts(std::vector<std::int64_t>& out) const {
    out.clear();
    const auto* reals = std::get_if<std::vector<double>>(&value_);
    return Take<std::vector<std::int64_t>>(out) || (reals != nullptr && reals->empty());
  }
  [[nodiscard]] bool AsTexts(std::vector<std::string_view>& out) const {
    const auto* texts = std::get_if<std::vector<std::string>>(&value_);
    if (texts != nullptr) {
      out.assign(texts->begin(), texts->end());
    }
    return texts != nullptr;
  }

 private:
  template <typename T>
  [[nodiscard]] bool Take(auto& out) const {
    const T* value = std::get_if<T>(&value_);
    if (value != nullptr) {
      out = *value;
    }
    return value != nullptr;
  }
  const decltype(ForeignAttribute::value)& value_;
};

}  // namespace reprise
