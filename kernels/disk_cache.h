// Compiled programs on disk, shared by processes: one file per key, replaced atomically.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace reprise {

// A file is "RPCC", version, payload length and XXH3 of the payload, then the payload; one that
// does not check out counts as absent. Every failure only costs a compilation, so callers may
// ignore them.
class DiskCache {
 public:
  // Held while one process compiles a key; the others wait. Released on destruction, and by the
  // kernel when the process dies.
  class Lock {
   public:
    explicit Lock(int fd) : fd_(fd) {}
    Lock(Lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Lock& operator=(Lock&&) = delete;
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();

   private:
    int fd_;
  };

  // Empty directory: nothing is kept. It is created when first needed.
  explicit DiskCache(std::string directory) : directory_(std::move(directory)) {}

  // XXH3 of the parts, as hexadecimal.
  [[nodiscard]] static std::string Key(const std::vector<std::string>& parts);
  [[nodiscard]] bool enabled() const { return !directory_.empty(); }
  [[nodiscard]] std::string PathOf(const std::string& key) const;
  [[nodiscard]] std::optional<std::vector<unsigned char>> Load(const std::string& key) const;
  [[nodiscard]] Status Store(const std::string& key,
                             const std::vector<unsigned char>& payload) const;
  void Remove(const std::string& key) const;
  // Nothing if the directory cannot be written; without `wait`, also if another process has it.
  [[nodiscard]] std::optional<Lock> Acquire(const std::string& key, bool wait = true) const;

 private:
  std::string directory_;
};

}  // namespace reprise
