#include "share/package/column_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "et_schema/columns.h"
#include "share/anonymize/keyed_hash.h"
#include "share/package/file_pieces.h"

namespace reprise {
namespace {

// The bytes written.
Result<std::uint64_t> WriteColumns(const std::string& path, const std::string& columns_path) {
  std::ofstream out(columns_path, std::ios::binary);
  std::uint64_t bytes = 0;
  ColumnsEncoder encoder([&](std::string_view columns) -> Status {
    bytes += columns.size();
    out.write(columns.data(), static_cast<std::streamsize>(columns.size()));
    return {};
  });
  REPRISE_TRY(ForEachPieceOfFile(path, [&](std::string_view piece) { return encoder.Add(piece); }));
  REPRISE_TRY(encoder.Finish());
  out.close();
  return out ? Result<std::uint64_t>(bytes)
             : EnvironmentError(fmt::format("{}: cannot be written", columns_path));
}

// Whether the columns give back `file`, by its size and sum.
Status ReadBack(const std::string& columns_path, const PackagedFile& file) {
  Sha256Stream sum;
  ColumnsDecoder decoder(file.bytes, [&](std::string_view bytes) -> Status {
    sum.Add(bytes);
    return {};
  });
  REPRISE_TRY(
      ForEachPieceOfFile(columns_path, [&](std::string_view piece) { return decoder.Add(piece); }));
  REPRISE_TRY(decoder.Finish());
  return sum.Hex() == file.sha256 ? Status{} : BadInput("its columns do not give it back");
}

}  // namespace

ColumnFiles::~ColumnFiles() {
  for (const std::string& path : paths_) {
    std::error_code error;
    std::filesystem::remove(path, error);
  }
}

Result<std::string> ColumnFiles::Store(const std::string& path, PackagedFile& file) {
  paths_.push_back(fmt::format("{}{}", prefix_, paths_.size()));
  REPRISE_ASSIGN(const std::uint64_t bytes, WriteColumns(path, paths_.back()));
  if (bytes >= file.bytes) {
    return BadInput("its columns are no smaller");
  }
  REPRISE_TRY(ReadBack(paths_.back(), file));
  file.encoding = kColumnsEncoding;
  file.encoded_bytes = bytes;
  return paths_.back();
}

}  // namespace reprise
