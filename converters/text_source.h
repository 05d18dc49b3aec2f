// The text of a captured file piece by piece, unpacked if it was gzip or zstd: what is in memory
// does not grow with the file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/result.h"

namespace reprise {

class TextSource {
 public:
  virtual ~TextSource() = default;
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  // gzip and zstd are recognised by content; several members or frames in a row are one text.
  static Result<std::unique_ptr<TextSource>> Open(const std::string& path);
  // The next bytes, at most `most` (above 0); none at the end. Errors name the file and the byte of
  // it (packed, if it is) where it stopped making sense.
  [[nodiscard]] virtual Result<std::size_t> Read(char* to, std::size_t most) = 0;
  // A first guess at all there is to come; 0: nothing known.
  [[nodiscard]] virtual std::size_t SizeHint() const { return 0; }
  [[nodiscard]] const std::string& path() const { return path_; }

 protected:
  explicit TextSource(std::string path) : path_(std::move(path)) {}

 private:
  std::string path_;
};

// The first bytes of a file's text, at most `most`; as far as it can be read.
[[nodiscard]] std::string ReadHead(const std::string& path, std::size_t most);

}  // namespace reprise
