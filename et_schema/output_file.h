// An output file as an ostream: a temporary name until it is whole, compressed as its name asks.
#pragma once

#include <memory>
#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/byte_stream.h"

namespace reprise {

// Nothing is left behind without Commit(). `.gz` and `.zst` in the name choose compression.
class OutputFile {
 public:
  // Usage error if `path` exists, unless `force`.
  static Result<OutputFile> Create(const std::string& path, bool force);
  [[nodiscard]] std::ostream& stream() { return *stream_; }
  // The first error of any write, if there was one.
  [[nodiscard]] Status Commit();

 private:
  // Hands on to the sink in large pieces; after an error it takes nothing more.
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(std::unique_ptr<ByteSink> sink);
    [[nodiscard]] Status Commit();

   protected:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* bytes, std::streamsize count) override;

   private:
    [[nodiscard]] bool Put(std::string_view bytes);
    std::unique_ptr<ByteSink> sink_;
    Status status_;
  };

  OutputFile() = default;
  std::unique_ptr<Buffer> buffer_;
  std::unique_ptr<std::ostream> stream_;
};

}  // namespace reprise
