// Plain values as bytes between ranks. In the machine's own order: ranks of one run share an
// architecture, and nothing is stored.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace reprise {

// Numbers, enumerations and structs of them; strings; vectors of numbers.
class ByteWriter {
 public:
  template <typename... T>
  void Put(const T&... values) {
    (Append(values), ...);
  }
  [[nodiscard]] std::size_t bytes() const { return text_.size(); }
  std::string Take() { return std::move(text_); }

 private:
  template <typename T>
  void Append(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void Append(const std::string& text) {
    Append(static_cast<std::uint32_t>(text.size()));
    text_ += text;
  }
  template <typename T>
  void Append(const std::vector<T>& list) {
    Append(static_cast<std::uint32_t>(list.size()));
    for (const T& value : list) {
      Append(value);
    }
  }

  std::string text_;
};

// Reads what a ByteWriter wrote; zeros, and !ok(), once the text is too short.
class ByteReader {
 public:
  explicit ByteReader(std::string_view text) : text_(text) {}
  template <typename... T>
  void Read(T&... values) {
    (Take(values), ...);
  }
  template <typename T>
  T Get() {
    T value{};
    Take(value);
    return value;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool AtEnd() const { return text_.empty(); }

 private:
  // The next bytes; empty if there are fewer.
  std::string_view Next(std::size_t bytes) {
    ok_ = ok_ && bytes <= text_.size();
    const std::string_view next = ok_ ? text_.substr(0, bytes) : std::string_view();
    text_ = ok_ ? text_.substr(bytes) : std::string_view();
    return next;
  }
  template <typename T>
  void Take(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    value = T{};
    if (const std::string_view bytes = Next(sizeof(T)); ok_) {
      std::memcpy(&value, bytes.data(), sizeof(T));
    }
  }
  void Take(std::string& text) { text = Next(Get<std::uint32_t>()); }
  template <typename T>
  void Take(std::vector<T>& list) {
    list.clear();
    for (auto size = Get<std::uint32_t>(); size > 0 && ok_; --size) {
      list.push_back(Get<T>());
    }
  }

  std::string_view text_;
  bool ok_ = true;
};

}  // namespace reprise
