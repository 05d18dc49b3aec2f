// Plain structs as bytes and back: integers, floating-point numbers, enums, texts, std::optional,
// pair, tuple, vector, array and map, and structs of these (core/fields.h). A class has
//   template <typename Self, typename Visit> static void VisitMembers(Self& self, Visit& visit);
// Bytes are those of this build of the program on this machine: whoever stores them says which,
// and no other reads them.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/enum_names.h"
#include "core/fields.h"
#include "core/shown_text.h"

namespace reprise {

// How many values an enum without a table of names has, for what is read.
template <typename Enum>
inline constexpr std::size_t kValuesOf = kNamesOf<Enum>.size();
template <>
inline constexpr std::size_t kValuesOf<DType> = static_cast<std::size_t>(DType::kFloat4E2M1x2) + 1;

class ValueWriter {
 public:
  explicit ValueWriter(std::string& out) : out_(out) {}

  template <typename T>
  void operator()(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    } else {
      Put(value);
    }
  }

 private:
  void Put(const std::string& text) {
    (*this)(text.size());
    out_ += text;
  }
  template <typename T>
  void Put(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) {
      (*this)(*value);
    }
  }
  template <typename A, typename B>
  void Put(const std::pair<A, B>& pair) {
    (*this)(pair.first);
    (*this)(pair.second);
  }
  template <typename... T>
  void Put(const std::tuple<T...>& values) {
    std::apply([this](const T&... each) { ((*this)(each), ...); }, values);
  }
  template <typename T>
  void Put(const std::vector<T>& values) {
    (*this)(values.size());
    for (const T& value : values) {
      (*this)(value);
    }
  }
  template <typename T, std::size_t kSize>
  void Put(const std::array<T, kSize>& values) {
    for (const T& value : values) {
      (*this)(value);
    }
  }
  template <typename Key, typename T, typename Less>
  void Put(const std::map<Key, T, Less>& values) {
    (*this)(values.size());
    for (const auto& entry : values) {
      (*this)(entry);
    }
  }
  template <typename Struct>
  requires std::is_aggregate_v<Struct>
  void Put(const Struct& row) { VisitFields(row, *this); }
  template <typename Class>
  requires(!std::is_aggregate_v<Class>) void Put(const Class& object) {
    Class::VisitMembers(object, *this);
  }

  std::string& out_;
};

// As they may be shown (core/shown_text.h), or byte for byte where this program has just written
// them.
enum class TextsRead : std::uint8_t { kShown, kAsWritten };

// Reads what ValueWriter wrote. Others may have written it: no value is out of its type's range.
class ValueReader {
 public:
  explicit ValueReader(std::string_view bytes, TextsRead texts = TextsRead::kShown)
      : bytes_(bytes), texts_(texts) {}

  // False from the first value on that is not there or cannot be: what was read then is no good.
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool AtEnd() const { return ok_ && bytes_.empty(); }

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      (*this)(byte);
      ok_ = ok_ && byte <= 1;
      value = byte == 1;
    } else if constexpr (std::is_enum_v<T>) {
      static_assert(kValuesOf<T> > 0, "say how many values it has: kValuesOf");
      std::underlying_type_t<T> number{};
      (*this)(number);
      ok_ = ok_ && static_cast<std::size_t>(number) < kValuesOf<T>;
      value = ok_ ? static_cast<T>(number) : T{};
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (Has(sizeof(value))) {
        std::memcpy(&value, bytes_.data(), sizeof(value));
        bytes_.remove_prefix(sizeof(value));
      }
    } else {
      Get(value);
    }
  }

 private:
  bool Has(std::size_t bytes) {
    ok_ = ok_ && bytes <= bytes_.size();
    return ok_;
  }
  // Of a list or text: each has at least a byte.
  std::size_t Count() {
    std::size_t count = 0;
    (*this)(count);
    return Has(count) ? count : 0;
  }
  void Get(std::string& text) {
    const std::size_t size = Count();
    const std::string_view written = bytes_.substr(0, size);
    text = texts_ == TextsRead::kShown ? ShownLines(written) : std::string(written);
    bytes_.remove_prefix(size);
  }
  template <typename T>
  void Get(std::optional<T>& value) {
    bool has_value = false;
    (*this)(has_value);
    if (has_value) {
      (*this)(value.emplace());
    }
  }
  template <typename A, typename B>
  void Get(std::pair<A, B>& pair) {
    (*this)(pair.first);
    (*this)(pair.second);
  }
  template <typename... T>
  void Get(std::tuple<T...>& values) {
    std::apply([this](T&... each) { ((*this)(each), ...); }, values);
  }
  template <typename T>
  void Get(std::vector<T>& values) {
    const std::size_t count = Count();
    values.clear();
    for (std::size_t i = 0; ok_ && i < count; ++i) {
      (*this)(values.emplace_back());
    }
  }
  template <typename T, std::size_t kSize>
  void Get(std::array<T, kSize>& values) {
    for (T& value : values) {
      (*this)(value);
    }
  }
  template <typename Key, typename T, typename Less>
  void Get(std::map<Key, T, Less>& values) {
    const std::size_t count = Count();
    values.clear();
    for (std::size_t i = 0; ok_ && i < count; ++i) {
      std::pair<Key, T> entry;
      (*this)(entry);
      values.insert(values.end(), std::move(entry));
    }
  }
  template <typename Struct>
  requires std::is_aggregate_v<Struct>
  void Get(Struct& row) { VisitFields(row, *this); }
  template <typename Class>
  requires(!std::is_aggregate_v<Class>) void Get(Class& object) {
    Class::VisitMembers(object, *this);
  }

  std::string_view bytes_;
  TextsRead texts_;
  bool ok_ = true;
};

}  // namespace reprise
