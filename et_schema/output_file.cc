#include "et_schema/output_file.h"

#include <fmt/format.h>

#include <filesystem>

namespace reprise {

OutputFile::Buffer::Buffer(std::unique_ptr<ByteSink> sink) : sink_(std::move(sink)) {}

bool OutputFile::Buffer::Put(std::string_view bytes) {
  if (status_) {
    status_ = sink_->Write(bytes);
  }
  return status_.has_value();
}

OutputFile::Buffer::int_type OutputFile::Buffer::overflow(int_type c) {
  const char byte = traits_type::to_char_type(c);
  return traits_type::eq_int_type(c, traits_type::eof()) || Put({&byte, 1})
             ? traits_type::not_eof(c)
             : traits_type::eof();
}

std::streamsize OutputFile::Buffer::xsputn(const char* bytes, std::streamsize count) {
  return Put({bytes, static_cast<std::size_t>(count)}) ? count : 0;
}

Status OutputFile::Buffer::Commit() {
  REPRISE_TRY(status_);
  return sink_->Commit();
}

Result<OutputFile> OutputFile::Create(const std::string& path, bool force) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    if (!std::filesystem::is_regular_file(path, error)) {
      return UsageError(fmt::format("{} exists and is no file", path));
    }
    if (!force) {
      return UsageError(fmt::format("{} exists; give --force to replace it", path));
    }
  }
  OutputFile file;
  REPRISE_ASSIGN(auto sink, ByteSink::Create(path));
  file.buffer_ = std::make_unique<Buffer>(std::move(sink));
  file.stream_ = std::make_unique<std::ostream>(file.buffer_.get());
  return file;
}

Status OutputFile::Commit() { return buffer_->Commit(); }

}  // namespace reprise
