// Looks into one text for what should not be shared. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// What this machine calls itself and its user: texts are searched for them. Empty: unknown.
struct LocalNames {
  std::string host, user, home;
};

struct Discovery {
  std::string_view kind;  // "path", "host name", "user name", "e-mail address", …
  std::string excerpt;    // where; of a secret its first characters only
};

// Paths and file names, e-mail addresses, IP and MAC addresses, host and user names, tokens and
// keys by their form, and strings too random to be a word. One discovery a kind.
[[nodiscard]] std::vector<Discovery> ScanText(std::string_view text, const LocalNames& local);

// Bits a character (Shannon) of the text's own distribution.
[[nodiscard]] double EntropyBits(std::string_view text);

}  // namespace reprise
