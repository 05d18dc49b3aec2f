#include "tests/kernels/cuda_stand_in/faults.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace cuda_stand_in {

bool Faults::Read() {
  const char* const set = std::getenv("REPRISE_STAND_IN_FAULT");
  const std::string text = set == nullptr ? "" : set;
  if (text == text_) {
    return true;
  }
  *this = Faults();
  text_ = text;
  if (text.empty()) {
    return true;
  }
  const std::size_t colon = text.find(':');
  kind_ = text.substr(0, colon);
  char* rest = nullptr;
  const char* const number = colon == std::string::npos ? "" : text_.c_str() + colon + 1;
  at_ = std::strtol(number, &rest, 10);
  bool is_whole = at_ > 0;
  if (kind_ == "init") {
    code_ = static_cast<Code>(at_);
  } else if (kind_ == "lost" && *rest == ':') {
    code_ = static_cast<Code>(std::strtol(rest + 1, &rest, 10));
    is_whole = is_whole && code_ > 0;
  } else {
    is_whole = is_whole && (kind_ == "alloc" || kind_ == "launch" || kind_ == "lost");
  }
  if (!is_whole || *rest != '\0') {
    fmt::print(stderr,
               "stand-in GPU: REPRISE_STAND_IN_FAULT={}: expected alloc:N, launch:N, lost:N, "
               "lost:N:CODE or init:CODE\n",
               text);
    return false;
  }
  return true;
}

void LogOperation(int stream, const std::string& text) {
  static long sequence = 0;
  const char* const path = std::getenv("REPRISE_STAND_IN_LOG");
  if (path == nullptr || *path == '\0') {
    return;
  }
  const std::string line = fmt::format("{} stream {} {}\n", ++sequence, stream, text);
  // One write a line: processes may share the file.
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0 || write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    fmt::print(stderr, "stand-in GPU: REPRISE_STAND_IN_LOG={} cannot be written\n", path);
  }
  if (file >= 0) {
    close(file);
  }
}

}  // namespace cuda_stand_in
