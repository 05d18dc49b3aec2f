// Captures whose text is in memory, read as files are.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"
#include "converters/text_source.h"

namespace reprise {

class TextInMemory final : public TextSource {
 public:
  // The text must outlive it; `path` is for messages.
  TextInMemory(std::string path, std::string_view text)
      : TextSource(std::move(path)), rest_(text) {}

  Result<std::size_t> Read(char* to, std::size_t most) override {
    const std::size_t size = std::min(most, rest_.size());
    std::memcpy(to, rest_.data(), size);
    rest_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view rest_;
};

namespace pytorch {

inline Result<HostTrace> ReadHostText(const std::string& path, std::string_view text,
                                      Diagnostics& diagnostics) {
  TextInMemory source(path, text);
  return ReadHostTrace(source, diagnostics);
}

inline Result<KinetoTrace> ReadKinetoText(const std::string& path, std::string_view text,
                                          Diagnostics& diagnostics) {
  TextInMemory source(path, text);
  return ReadKineto(source, false, diagnostics);
}

}  // namespace pytorch
}  // namespace reprise
