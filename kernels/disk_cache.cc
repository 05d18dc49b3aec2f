#include "kernels/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace reprise {
namespace {

struct Header {
  std::array<char, 4> magic = {'R', 'P', 'C', 'C'};
  std::uint32_t version = 1;
  std::uint64_t length = 0;
  std::uint64_t checksum = 0;
};

}  // namespace

DiskCache::Lock::~Lock() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

std::string DiskCache::Key(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) {
    joined += std::to_string(part.size()) + ":" + part;  // so that no two lists join alike
  }
  const XXH128_hash_t hash = XXH3_128bits(joined.data(), joined.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string DiskCache::PathOf(const std::string& key) const {
  return directory_ + "/" + key + ".clbin";
}

std::optional<std::vector<unsigned char>> DiskCache::Load(const std::string& key) const {
  if (!enabled()) {
    return std::nullopt;
  }
  std::ifstream file(PathOf(key), std::ios::binary);
  Header header;
  const Header expected;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header)) ||
      header.magic != expected.magic || header.version != expected.version) {
    return std::nullopt;
  }
  std::error_code error;
  const auto size = std::filesystem::file_size(PathOf(key), error);
  if (error || size != sizeof(header) + header.length) {
    return std::nullopt;
  }
  std::vector<unsigned char> payload(header.length);
  if (!file.read(reinterpret_cast<char*>(payload.data()),
                 static_cast<std::streamsize>(payload.size())) ||
      XXH3_64bits(payload.data(), payload.size()) != header.checksum) {
    return std::nullopt;
  }
  return payload;
}

Status DiskCache::Store(const std::string& key, const std::vector<unsigned char>& payload) const {
  if (!enabled()) {
    return {};
  }
  Header header;
  header.length = payload.size();
  header.checksum = XXH3_64bits(payload.data(), payload.size());
  // Written beside and renamed, so that a reader sees all of it or nothing.
  const std::string temporary = fmt::format("{}.{}.tmp", PathOf(key), getpid());
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&header), sizeof(header));
  file.write(reinterpret_cast<const char*>(payload.data()),
             static_cast<std::streamsize>(payload.size()));
  file.close();
  std::error_code error;
  if (file) {
    std::filesystem::rename(temporary, PathOf(key), error);
  }
  if (!file || error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return EnvironmentError("could not write the program cache " + PathOf(key));
  }
  return {};
}

void DiskCache::Remove(const std::string& key) const {
  std::error_code ignored;
  std::filesystem::remove(PathOf(key), ignored);
}

std::optional<DiskCache::Lock> DiskCache::Acquire(const std::string& key, bool wait) const {
  if (!enabled()) {
    return std::nullopt;
  }
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  const int fd =
      open((directory_ + "/" + key + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) {
    return std::nullopt;
  }
  Lock lock(fd);
  while (flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) {
      return std::nullopt;  // taken, or a file system without locks
    }
  }
  return lock;
}

}  // namespace reprise
