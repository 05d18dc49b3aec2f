#include "kernels/cpu/onednn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <new>
#include <system_error>

#include "kernels/shared_library.h"

namespace reprise {
namespace {

const Result<SharedLibrary>& Library() {
  static const Result<SharedLibrary> library = SharedLibrary::Open({REPRISE_ONEDNN_LIBRARY});
  return library;
}

}  // namespace

Status OpenOneDnn() {
  if (!Library()) {
    return EnvironmentError(fmt::format("the host backend needs oneDNN: {} (Debian: {})",
                                        Library().error().message, REPRISE_ONEDNN_PACKAGE));
  }
  return {};
}

void* FindInOneDnn(const char* name) { return Library() ? Library()->Find<void>(name) : nullptr; }

void RequireSpaceForCode() {
  // Measured: the code of one kernel takes up to 3 MB, in pieces; threads may do this at once.
  constexpr std::uint64_t kSpareBytes = std::uint64_t{64} << 20;
  static const rlim_t most_bytes = [] {
    rlimit space{};
    return ::getrlimit(RLIMIT_AS, &space) == 0 ? space.rlim_cur : RLIM_INFINITY;
  }();
  if (most_bytes == RLIM_INFINITY) {
    return;
  }
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  std::array<char, 64> text{};
  const ssize_t got = file < 0 ? 0 : ::read(file, text.data(), text.size());
  if (file >= 0) {
    ::close(file);
  }
  std::uint64_t pages = 0;
  if (got <= 0 || std::from_chars(text.data(), text.data() + got, pages).ec != std::errc()) {
    return;
  }
  if (pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + kSpareBytes > most_bytes) {
    throw std::bad_alloc();
  }
}

void SetOneDnnThreads(int threads) {
  static auto* const set = reinterpret_cast<void (*)(int)>(FindInOneDnn("omp_set_num_threads"));
  static auto* const cores = reinterpret_cast<int (*)()>(FindInOneDnn("omp_get_num_procs"));
  if (set != nullptr && cores != nullptr) {
    set(threads == 0 ? cores() : threads);
  }
}

}  // namespace reprise
