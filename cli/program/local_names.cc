#include "cli/program/local_names.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace reprise {

LocalNames NamesOfThisMachine() {
  LocalNames names;
  constexpr std::size_t kMaxHostName = 256;
  std::array<char, kMaxHostName> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) {
    names.host = host.data();
  }
  if (const passwd* user = getpwuid(getuid()); user != nullptr) {
    names.user = user->pw_name;
    names.home = user->pw_dir;
  }
  return names;
}

}  // namespace reprise
