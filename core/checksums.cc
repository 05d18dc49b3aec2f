#include "core/checksums.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "core/file_descriptor.h"
#include "core/parallel.h"
#include "core/shown_text.h"
#include "core/temporary_output.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChecksumDigits = 32;

bool IsHex(std::string_view text) {
  return text.size() == kChecksumDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string InHex(const XXH128_hash_t& hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// One file below the directory: nothing else is ever read.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0\n", 3)) == std::string_view::npos;
}

std::vector<std::string> RegularFiles(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error) && it->path().filename() != kChecksumsFile) {
      names.push_back(it->path().filename().string());
    }
  }
  return names;
}

}  // namespace

std::string ChecksumOfBytes(std::string_view bytes) {
  return InHex(XXH3_128bits(bytes.data(), bytes.size()));
}

Result<std::string> ChecksumOf(const std::string& path) {
  const auto failed = [&path](int code) {
    return EnvironmentError(fmt::format("{}: cannot be read: {}", path, std::strerror(code)));
  };
  // Without O_NONBLOCK, opening a FIFO waits for a writer.
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return failed(fd.get() < 0 ? errno : EINVAL);
  }
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::vector<char> piece(kPieceBytes);
  ssize_t got = 0;
  while ((got = ::read(fd.get(), piece.data(), piece.size())) > 0 || (got < 0 && errno == EINTR)) {
    XXH3_128bits_update(state.get(), piece.data(),
                        static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  }
  if (got < 0) {
    return failed(errno);
  }
  return InHex(XXH3_128bits_digest(state.get()));
}

const std::string& ChecksumOfProgram() {
  static const std::string checksum = ChecksumOf("/proc/self/exe").value_or("");
  return checksum;
}

Status AppendOwnChecksum(const std::string& path) {
  REPRISE_ASSIGN(const std::string own, ChecksumOf(path));
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << own;
  file.close();
  return file ? Status{} : EnvironmentError(path + ": cannot be written");
}

std::optional<std::string> ReadWithOwnChecksum(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < static_cast<std::streamoff>(kChecksumDigits)) {
    return std::nullopt;
  }
  std::string bytes(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::string own = bytes.substr(bytes.size() - kChecksumDigits);
  bytes.resize(bytes.size() - kChecksumDigits);
  return file && ChecksumOfBytes(bytes) == own ? std::optional(std::move(bytes)) : std::nullopt;
}

Status WriteChecksums(const std::string& directory, OutputKind kind, std::vector<std::string> names,
                      const std::map<std::string, std::string>& known) {
  if (names.empty()) {
    names = RegularFiles(directory);
  }
  for (const auto& [name, sum] : known) {
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::string> lines(names.size());
  std::vector<Status> outcomes(names.size());
  ForEachInParallel(names.size(), [&](std::size_t i) {
    const auto found = known.find(names[i]);
    const Result<std::string> sum = found != known.end()
                                        ? found->second
                                        : ChecksumOf((fs::path(directory) / names[i]).string());
    if (!sum) {
      outcomes[i] = tl::unexpected<Error>(sum.error());
    } else if (IsPlainName(names[i])) {
      lines[i] = fmt::format("{}  {}\n", *sum, names[i]);
    } else {
      outcomes[i] = UsageError(fmt::format("{}: a name of this kind cannot be listed: '{}'",
                                           directory, ShownText(names[i])));
    }
  });
  std::string text = MarkerLine(kind);
  for (std::size_t i = 0; i < names.size(); ++i) {
    REPRISE_TRY(outcomes[i]);
    text += lines[i];
  }
  const std::string path = (fs::path(directory) / kChecksumsFile).string();
  REPRISE_ASSIGN(TemporaryOutput file, TemporaryOutput::File(path));
  FileDescriptor fd = file.TakeDescriptor();
  const bool written =
      ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!fd.Close() || !written) {
    return EnvironmentError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  }
  return file.Publish();
}

Result<Checksums> Checksums::Read(const std::string& directory) {
  Checksums out;
  out.directory_ = directory;
  const std::string path = (fs::path(directory) / kChecksumsFile).string();
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) {
    return out;
  }
  const auto bad = [&path](std::string_view what) {
    return BadInput(fmt::format(
        "{}: {}; expected lines of 32 hex digits, two blanks and a name; without this file the "
        "directory is read unverified",
        path, what));
  };
  constexpr std::uintmax_t kMaxBytes = std::uintmax_t{1} << 30;  // 10 M files
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMaxBytes) {
    return bad("no regular file, or too large");
  }
  std::ifstream in(path, std::ios::binary);
  std::string line;
  if (!std::getline(in, line) || !line.starts_with("# reprise ")) {
    return bad("its first line is not '# reprise <kind> 1'");
  }
  while (std::getline(in, line)) {
    const std::string_view view = line;
    const bool sound =
        view.size() > kChecksumDigits + 2 && IsHex(view.substr(0, kChecksumDigits)) &&
        view.substr(kChecksumDigits, 2) == "  " && IsPlainName(view.substr(kChecksumDigits + 2));
    if (!sound) {
      return bad(fmt::format("damaged: '{}'", ShownText(view.substr(0, 80))));
    }
    out.sums_[line.substr(kChecksumDigits + 2)] = line.substr(0, kChecksumDigits);
  }
  out.known_ = true;
  return out;
}

Status Checksums::Verify(const std::string& name) const {
  if (!known_) {
    return {};
  }
  const std::string path = (fs::path(directory_) / name).string();
  const auto expected = sums_.find(name);
  const auto advice = [&] {
    return fmt::format("restore it from a copy; if the change is meant, remove {}",
                       (fs::path(directory_) / kChecksumsFile).string());
  };
  if (expected == sums_.end()) {
    return BadInput(fmt::format("{}: is not listed in {}: added or renamed since; {}", path,
                                kChecksumsFile, advice()));
  }
  std::error_code error;
  if (!fs::exists(path, error)) {
    return BadInput(
        fmt::format("{}: missing, but listed in {}; {}", path, kChecksumsFile, advice()));
  }
  REPRISE_ASSIGN(const std::string sum, ChecksumOf(path));
  return sum == expected->second
             ? Status{}
             : BadInput(
                   fmt::format("{}: damaged or changed: its XXH3 checksum is {}, {} has {}; {}",
                               path, sum, kChecksumsFile, expected->second, advice()));
}

Status Checksums::VerifyThese(const std::vector<std::string>& names) const {
  std::vector<Status> outcomes(names.size());
  ForEachInParallel(names.size(), [&](std::size_t i) { outcomes[i] = Verify(names[i]); });
  for (Status& outcome : outcomes) {
    REPRISE_TRY(outcome);
  }
  return {};
}

}  // namespace reprise
