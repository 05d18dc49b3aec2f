// What a storage node does: Chakra's StorageInfo as plain values.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace reprise {

// A number of one of Chakra's enumerations, as files have it: those of later schemas are kept, too.
using SchemaNumber = std::int32_t;

// Each has the members of Chakra's message; 0 and "" where the file lacks them, as in protobuf.
// On a file: POSIX calls.
struct FileOperation {
  SchemaNumber op = 0;
  std::string pathname;
  std::int32_t fd = 0;
  std::uint64_t offset = 0;  // bytes, within the file
  std::uint64_t size_bytes = 0;
  std::uint32_t flags = 0;
  bool operator==(const FileOperation&) const = default;
};

// On the page cache.
struct PageOperation {
  SchemaNumber op = 0;
  std::uint64_t inode = 0;
  std::uint64_t page_index = 0;  // within the file, in pages
  std::uint32_t nr_pages = 0;
  bool operator==(const PageOperation&) const = default;
};

// On a block device.
struct BlockOperation {
  SchemaNumber op = 0;
  SchemaNumber queue_event = 0;
  std::string device;
  std::uint64_t lba = 0;         // sectors
  std::uint32_t nr_sectors = 0;  // of 512 bytes, as Linux counts them
  std::uint32_t req_op_flags = 0;
  bool operator==(const BlockOperation&) const = default;
};

struct StorageWork {
  SchemaNumber level = 0;  // of the storage stack
  std::variant<std::monostate, FileOperation, PageOperation, BlockOperation> detail;
  bool operator==(const StorageWork&) const = default;
};

// The names of an enumeration: Chakra's are `prefix` and the name in capitals.
struct SchemaNames {
  std::string_view prefix;
  std::span<const std::string_view> names;  // by number; empty: no such number
  // The number in digits where it has no name.
  [[nodiscard]] std::string Of(SchemaNumber number) const;
  [[nodiscard]] bool Has(SchemaNumber number) const {
    return number >= 0 && static_cast<std::size_t>(number) < names.size() &&
           !names[static_cast<std::size_t>(number)].empty();
  }
};

// The operation in words: "fs read", "block write complete", "device", "unknown".
[[nodiscard]] std::string OperationName(const StorageWork& work);
// What it reads, writes or flushes by its own record; -1: it does not say.
[[nodiscard]] std::int64_t OperationBytes(const StorageWork& work);
// Whether the detail is of the level that the record names. A level without details fits all.
[[nodiscard]] bool DetailFitsLevel(const StorageWork& work);

}  // namespace reprise
