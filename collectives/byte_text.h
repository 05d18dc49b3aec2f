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

class ByteWriter {
 public:
  template <typename T>
  void Put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* bytes = reinterpret_cast<const char*>(&value);
    text_.append(bytes, sizeof(T));
  }
  void PutString(const std::string& text) {
    Put(static_cast<std::uint32_t>(text.size()));
    text_ += text;
  }
  void PutList(const std::vector<std::int64_t>& list) {
    Put(static_cast<std::uint32_t>(list.size()));
    for (const std::int64_t value : list) {
      Put(value);
    }
  }
  [[nodiscard]] std::size_t bytes() const { return text_.size(); }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// Reads what a ByteWriter wrote; zeros, and !ok(), once the text is too short.
class ByteReader {
 public:
  explicit ByteReader(std::string_view text) : text_(text) {}
  template <typename T>
  T Get() {
    T value{};
    if (text_.size() < sizeof(T)) {
      ok_ = false;
      text_ = {};
      return value;
    }
    std::memcpy(&value, text_.data(), sizeof(T));
    text_.remove_prefix(sizeof(T));
    return value;
  }
  std::string GetString() {
    const auto size = Get<std::uint32_t>();
    if (size > text_.size()) {
      ok_ = false;
      return {};
    }
    std::string result(text_.substr(0, size));
    text_.remove_prefix(size);
    return result;
  }
  std::vector<std::int64_t> GetList() {
    const auto size = Get<std::uint32_t>();
    std::vector<std::int64_t> list;
    for (std::uint32_t i = 0; i < size && ok_; ++i) {
      list.push_back(Get<std::int64_t>());
    }
    return list;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool AtEnd() const { return text_.empty(); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

}  // namespace reprise
