// The fields of Chakra's StorageInfo as tables: what reader, writer, JSON and policies need to know
// of each. A new field is a member in storage.h and a row here.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "et_schema/sharing.h"
#include "et_schema/storage.h"

namespace reprise {

namespace schema_names {
inline constexpr std::string_view kLevelList[] = {"unknown", "fs", "page", "block", "device"};
inline constexpr std::string_view kFileList[] = {"unknown",   "open",           "close",  "read",
                                                 "write",     "pread",          "pwrite", "fsync",
                                                 "fdatasync", "sync_file_range"};
inline constexpr std::string_view kPageList[] = {
    "unknown", "add_to_cache", "dirty", "readahead_sync", "", "", "readahead_async"};
inline constexpr std::string_view kBlockList[] = {"unknown", "read", "write", "flush"};
inline constexpr std::string_view kEventList[] = {"unknown", "queue",    "get",
                                                  "insert",  "dispatch", "complete"};
inline constexpr SchemaNames kLevel{"STORAGE_LEVEL_", kLevelList};
inline constexpr SchemaNames kFile{"FS_OP_", kFileList};
inline constexpr SchemaNames kPage{"PAGE_OP_", kPageList};
inline constexpr SchemaNames kBlock{"BLOCK_OP_", kBlockList};
inline constexpr SchemaNames kEvent{"BLOCK_EVENT_", kEventList};
}  // namespace schema_names

// The field number of Node that holds a StorageInfo.
inline constexpr std::uint32_t kStorageField = 11;
// Its number of the level.
inline constexpr std::uint32_t kStorageLevelField = 1;

template <auto kMember>
struct StorageField;
template <typename Operation, typename T, T Operation::*kMember>
struct StorageField<kMember> {
  using Value = T;
  static constexpr bool kIsText = std::is_same_v<T, std::string>;
  std::uint32_t number;  // of the wire format
  std::string_view name;
  Field shared;  // the field of policies that it is a part of
  const SchemaNames* names = nullptr;

  static constexpr auto& Of(auto& operation) { return operation.*kMember; }
};

// By type of operation: its field number in StorageInfo, its name, its fields.
template <typename Operation>
struct StorageTable;
template <>
struct StorageTable<FileOperation> {
  static constexpr std::uint32_t kNumber = 10;
  static constexpr std::string_view kName = "fs";
  static constexpr auto kFields =
      std::tuple{StorageField<&FileOperation::op>{1, "op", Field::kStorageOp, &schema_names::kFile},
                 StorageField<&FileOperation::pathname>{2, "pathname", Field::kStoragePlace},
                 StorageField<&FileOperation::fd>{3, "fd", Field::kStoragePlace},
                 StorageField<&FileOperation::offset>{4, "offset", Field::kStoragePlace},
                 StorageField<&FileOperation::size_bytes>{5, "size_bytes", Field::kStorageBytes},
                 StorageField<&FileOperation::flags>{6, "flags", Field::kStorageFlags}};
};
template <>
struct StorageTable<PageOperation> {
  static constexpr std::uint32_t kNumber = 11;
  static constexpr std::string_view kName = "page";
  static constexpr auto kFields =
      std::tuple{StorageField<&PageOperation::op>{1, "op", Field::kStorageOp, &schema_names::kPage},
                 StorageField<&PageOperation::inode>{2, "inode", Field::kStoragePlace},
                 StorageField<&PageOperation::page_index>{3, "page_index", Field::kStoragePlace},
                 StorageField<&PageOperation::nr_pages>{4, "nr_pages", Field::kStorageBytes}};
};
template <>
struct StorageTable<BlockOperation> {
  static constexpr std::uint32_t kNumber = 12;
  static constexpr std::string_view kName = "block";
  static constexpr auto kFields = std::tuple{
      StorageField<&BlockOperation::op>{1, "op", Field::kStorageOp, &schema_names::kBlock},
      StorageField<&BlockOperation::queue_event>{2, "queue_event", Field::kStorageOp,
                                                 &schema_names::kEvent},
      StorageField<&BlockOperation::device>{3, "device", Field::kStoragePlace},
      StorageField<&BlockOperation::lba>{4, "lba", Field::kStoragePlace},
      StorageField<&BlockOperation::nr_sectors>{5, "nr_sectors", Field::kStorageBytes},
      StorageField<&BlockOperation::req_op_flags>{6, "req_op_flags", Field::kStorageFlags}};
};

// Calls `visit(row)` for each field of an operation.
template <typename Operation, typename Visit>
constexpr void ForEachStorageField(const Visit& visit) {
  std::apply([&](const auto&... row) { (visit(row), ...); }, StorageTable<Operation>::kFields);
}
// Calls `visit(std::type_identity<Operation>())` for each type of operation.
template <typename Visit>
constexpr void ForEachStorageOperation(const Visit& visit) {
  visit(std::type_identity<FileOperation>());
  visit(std::type_identity<PageOperation>());
  visit(std::type_identity<BlockOperation>());
}
// Calls `visit(operation)` with the detail, if there is one.
template <typename Visit>
void VisitDetail(auto& work, const Visit& visit) {
  std::visit(
      [&]<typename Detail>(Detail& detail) {
        if constexpr (!std::is_same_v<std::remove_const_t<Detail>, std::monostate>) {
          visit(detail);
        }
      },
      work.detail);
}
// Calls `visit(text)` for each text of the detail.
template <typename Visit>
void ForEachStorageText(auto& work, const Visit& visit) {
  VisitDetail(work, [&]<typename Operation>(Operation& detail) {
    ForEachStorageField<std::remove_const_t<Operation>>([&](const auto& row) {
      if constexpr (std::remove_cvref_t<decltype(row)>::kIsText) {
        visit(row.Of(detail));
      }
    });
  });
}

}  // namespace reprise
