// What the user set of the backends' options (kernels/backend.h), by name. Plain data.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise {

class BackendSettings {
 public:
  BackendSettings() = default;
  // {{"blas", "libopenblas.so.0"}}; an empty value is none.
  BackendSettings(std::initializer_list<std::pair<std::string, std::string>> values) {
    for (const auto& [name, value] : values) {
      Add(name, value);
    }
  }
  // Of a flag any value. An empty one is none.
  void Add(const std::string& name, std::string value) {
    if (!value.empty()) {
      values_[name].push_back(std::move(value));
    }
  }
  // In place of what it had.
  void Set(const std::string& name, std::string value) {
    values_.erase(name);
    Add(name, std::move(value));
  }
  [[nodiscard]] bool Has(std::string_view name) const {
    return values_.find(name) != values_.end();
  }
  // The last one given, or empty.
  [[nodiscard]] std::string Text(std::string_view name) const {
    const auto it = values_.find(name);
    return it == values_.end() ? std::string() : it->second.back();
  }
  // In the order that they were given.
  [[nodiscard]] std::vector<std::string> Texts(std::string_view name) const {
    const auto it = values_.find(name);
    return it == values_.end() ? std::vector<std::string>() : it->second;
  }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

}  // namespace reprise
