// XXH3-128 of bytes that come in pieces. Only et_schema sees this.
#pragma once

#include <fmt/format.h>
#include <xxhash.h>

#include <memory>
#include <string>
#include <string_view>

namespace reprise {

class StreamHash {
 public:
  StreamHash() : state_(XXH3_createState(), &XXH3_freeState) { XXH3_128bits_reset(state_.get()); }
  void Add(std::string_view bytes) {
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  }
  // 32 hex digits.
  [[nodiscard]] std::string Hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

}  // namespace reprise
