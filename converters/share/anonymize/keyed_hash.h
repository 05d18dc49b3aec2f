// Names for what must not be named: HMAC-SHA256 under a secret salt. Thread-safe after creation.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace reprise {

class KeyedHash {
 public:
  // A salt that is not kept: two calls give unrelated names, and there is no way back.
  static Result<KeyedHash> Random();
  // The salt of `path`; where there is no such file it is created, readable by its owner only.
  // Environment: the file can be read by others. Bad input: it is no salt file.
  static Result<KeyedHash> FromFile(const std::string& path);
  // For processes that give equal names: the salt itself, and the hash that another one's makes.
  // Environment: this is no salt.
  [[nodiscard]] std::string Secret() const;
  static Result<KeyedHash> FromSecret(std::string_view secret);

  // "<kind>_<16 hexadecimal digits>"; the same for the same kind, text and salt.
  [[nodiscard]] std::string Name(std::string_view kind, std::string_view text) const;
  // A factor from 0.5 to 2, the same for the same purpose and salt.
  [[nodiscard]] double Factor(std::string_view purpose) const;

 private:
  static constexpr std::size_t kSaltBytes = 32;
  using Salt = std::array<std::uint8_t, kSaltBytes>;
  explicit KeyedHash(const Salt& salt) : salt_(salt) {}
  [[nodiscard]] std::uint64_t Bits(std::string_view kind, std::string_view text) const;
  static Result<KeyedHash> Create(const std::string& path);
  Salt salt_;
};

// What Name() gives.
[[nodiscard]] bool IsHashedName(std::string_view text);

// SHA-256 as 64 hexadecimal digits.
[[nodiscard]] std::string Sha256(std::string_view bytes);

// Of bytes that come in pieces.
class Sha256Stream {
 public:
  Sha256Stream();
  Sha256Stream(Sha256Stream&& other) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) = delete;
  ~Sha256Stream();
  void Add(std::string_view bytes);
  // Once.
  [[nodiscard]] std::string Hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace reprise
