#include "report/telemetry/pseudo_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "core/metrics.h"

namespace reprise {
namespace {

constexpr std::size_t kFirstBytes = 4096;
// /proc/stat of a machine with thousands of interrupts; anything longer is not what we read.
constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

std::optional<std::int64_t> NumberAfter(std::string_view name, std::string_view prefix) {
  return ParseNumber(name.substr(prefix.size()));
}

}  // namespace

Result<PseudoFile> PseudoFile::Open(const std::string& path, bool* denied) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    if (denied != nullptr) {
      *denied = errno == EACCES || errno == EPERM;
    }
    return EnvironmentError(path + ": " + std::generic_category().message(errno));
  }
  PseudoFile file(descriptor);
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    return EnvironmentError(path + ": not a regular file");
  }
  return file;
}

PseudoFile::PseudoFile(PseudoFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), buffer_(std::move(other.buffer_)) {}

PseudoFile& PseudoFile::operator=(PseudoFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

PseudoFile::~PseudoFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

std::optional<std::string_view> PseudoFile::Text() {
  if (buffer_.empty()) {
    buffer_.resize(kFirstBytes);
  }
  std::size_t size = 0;
  for (;;) {
    const ssize_t got =
        pread(descriptor_, buffer_.data() + size, buffer_.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 || size > kMaxBytes) {
      return std::nullopt;
    }
    size += static_cast<std::size_t>(got);
    // The kernel makes these texts whole: a read that does not fill the buffer has come to the end.
    if (size < buffer_.size()) {
      return std::string_view(buffer_).substr(0, size);
    }
    buffer_.resize(2 * size);
  }
}

std::optional<std::int64_t> PseudoFile::Number() {
  const std::optional<std::string_view> text = Text();
  return text ? ParseNumber(*text) : std::nullopt;
}

std::vector<std::string> ListPrefixed(const std::string& directory, std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.starts_with(prefix)) {
      names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    const auto x = NumberAfter(a, prefix).value_or(-1);
    const auto y = NumberAfter(b, prefix).value_or(-1);
    return x != y ? x < y : a < b;
  });
  return names;
}

std::string ReadLabel(const std::string& path) {
  Result<PseudoFile> file = PseudoFile::Open(path);
  const std::string_view text = file ? file->Text().value_or("") : "";
  return std::string(text.substr(0, text.find('\n')));
}

std::string PciBusIdOfDevice(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(directory + "/device", error);
  return error ? std::string() : NormalizePciBusId(target.filename().string());
}

std::optional<std::int64_t> ParseNumber(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::string UniqueName(const std::string& name, const std::string& suffix,
                       std::vector<std::string>& taken) {
  const bool used = std::find(taken.begin(), taken.end(), name) != taken.end();
  taken.push_back(used ? name + " (" + suffix + ")" : name);
  return taken.back();
}

}  // namespace reprise
