// Packages: there and back, the same bytes for the same set, and what strangers may put into one.
#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "converters/converter.h"
#include "converters/share/anonymize/anonymize.h"
#include "converters/share/anonymize/keyed_hash.h"
#include "converters/share/package/pack.h"
#include "converters/share/package/unpack.h"
#include "et_schema/io.h"
#include "tests/converters/synthetic_capture.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Package : public ::testing::Test {
 protected:
  void SetUp() override {
    base_ = FreshDirectory("package");
    set_ = base_ + "/set";
    file_ = base_ + "/set.reprise";
  }
  void MakeSet() {
    const std::string captured = base_ + "/captured";
    ASSERT_TRUE(FindConverter("pytorch")->convert(
        {.input_directory = std::string(REPRISE_SOURCE_DIR) + "/traces/gloo_comms/collectives4",
         .output_directory = captured}));
    ASSERT_TRUE(AnonymizeSet({.input_directory = captured,
                              .output_directory = set_,
                              .policy = *Policy::Load("replay")}));
  }
  // What Unpack says of file_; "" if it takes it.
  std::string Refusal(const UnpackLimits& limits = {}) {
    const std::string out = base_ + "/out";
    const auto unpacked = Unpack({.package = file_, .directory = out, .limits = limits});
    EXPECT_EQ(fs::exists(out), unpacked.has_value());
    fs::remove_all(out);
    for (const auto& entry : fs::directory_iterator(base_)) {
      EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << "left behind";
    }
    EXPECT_TRUE(unpacked || unpacked.error().kind == ErrorKind::kBadInput);
    return unpacked ? "" : unpacked.error().message;
  }
  // A trace of so many nodes, as bytes.
  [[nodiscard]] std::string SoundTrace(std::uint64_t nodes) const {
    const std::string path = base_ + "/sound.et";
    TraceMetadata metadata;
    metadata.world_size = 1;
    auto writer = EtWriter::Create(path, metadata);
    EXPECT_TRUE(writer);
    for (std::uint64_t id = 1; id <= nodes; ++id) {
      Node node;
      node.id = id;
      node.name = "aten::mm";
      node.type = NodeType::kComp;
      node.actor = {Actor::Kind::kThread, 1, -1};
      node.start_ns = static_cast<std::int64_t>(id) * 1000;
      node.duration_ns = 500;
      EXPECT_TRUE((*writer)->Write(node));
    }
    EXPECT_TRUE((*writer)->Close());
    return Bytes(path);
  }
  std::string base_, set_, file_;
};

// An archive made by hand: what `pack` would never write.
class HandMade {
 public:
  explicit HandMade(const std::string& path, bool compressed = true) {
    archive_write_set_format_pax(archive_);
    if (compressed) {
      archive_write_add_filter_zstd(archive_);
    }
    EXPECT_EQ(archive_write_open_filename(archive_, path.c_str()), ARCHIVE_OK);
  }
  HandMade(const HandMade&) = delete;
  HandMade& operator=(const HandMade&) = delete;
  ~HandMade() {
    archive_write_close(archive_);
    archive_write_free(archive_);
  }
  using Edit = std::function<void(archive_entry*)>;
  HandMade& Add(const std::string& path, const std::string& text, const Edit& edit = {}) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, path.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
    if (edit) {
      edit(entry);
    }
    EXPECT_EQ(archive_write_header(archive_, entry), ARCHIVE_OK) << archive_error_string(archive_);
    archive_write_data(archive_, text.data(), text.size());
    archive_entry_free(entry);
    return *this;
  }
  HandMade& Manifest(const std::vector<PackagedFile>& files) {
    return Add(kManifestFile, ManifestText({.name = "trace", .files = files}));
  }

 private:
  archive* archive_ = archive_write_new();
};

PackagedFile Listed(const std::string& path, const std::string& text) {
  return {.path = path, .bytes = text.size(), .sha256 = Sha256(text)};
}

TEST_F(Package, ThereAndBack) {
  MakeSet();
  WriteText(base_ + "/LICENCE", "do as you like\n");
  WriteText(set_ + "/notes.txt", "private\n");
  const PackRequest request{.directory = set_, .output = file_, .licence_file = base_ + "/LICENCE"};
  const auto packed = PackSet(request);
  ASSERT_TRUE(packed) << packed.error().message;
  EXPECT_EQ(packed->manifest.policy, "replay");
  EXPECT_EQ(packed->bytes, fs::file_size(file_));
  EXPECT_THAT(packed->left_out, ::testing::ElementsAre("notes.txt"));
  EXPECT_EQ(PackSet(request).error().kind, ErrorKind::kUsage);  // it exists

  const std::string out = base_ + "/out/";
  const auto manifest = Unpack({.package = file_, .directory = out});
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(*manifest, packed->manifest);
  for (const PackagedFile& file : manifest->files) {
    EXPECT_EQ(Sha256(Bytes(out + file.path)), file.sha256) << file.path;
    if (fs::exists(fs::path(set_) / file.path)) {
      EXPECT_EQ(Bytes(out + file.path), Bytes(fs::path(set_) / file.path));
    }
  }
  EXPECT_EQ(Bytes(out + "LICENCE.txt"), "do as you like\n");
  EXPECT_EQ(Unpack({.package = file_, .directory = out}).error().kind, ErrorKind::kUsage);
  WriteText(out + "job.json", "{}");  // of another package
  EXPECT_TRUE(Unpack({.package = file_, .directory = out, .force = true}));
  EXPECT_FALSE(fs::exists(out + "job.json"));
  // Only what an unpack wrote is ever replaced.
  EXPECT_EQ(Unpack({.package = file_, .directory = set_, .force = true}).error().kind,
            ErrorKind::kUsage);
}

TEST_F(Package, UnreadableSetsAreRefusedOnBothSides) {
  MakeSet();
  const std::string whole = Bytes(set_ + "/trace.0.et");
  WriteText(set_ + "/trace.0.et", whole.substr(0, whole.size() - 1));
  auto packed = PackSet({.directory = set_, .output = file_});
  ASSERT_FALSE(packed);
  EXPECT_THAT(packed.error().message, HasSubstr("damaged or changed"));
  fs::remove(set_ + "/checksums.xxh128");
  packed = PackSet({.directory = set_, .output = file_});
  ASSERT_FALSE(packed);
  EXPECT_THAT(packed.error().message, HasSubstr("truncated"));
  EXPECT_FALSE(fs::exists(file_));
  const std::string cut = SoundTrace(3).substr(0, 100);
  HandMade(file_).Manifest({Listed("a.0.et", cut)}).Add("a.0.et", cut);
  EXPECT_THAT(Refusal(), HasSubstr("truncated"));
}

TEST_F(Package, OfOtherVersions) {
  HandMade(file_)
      .Add(kManifestFile, R"({"format": "reprise-package-2", "files": []})")
      .Add("a.0.et.columns", "x");
  EXPECT_THAT(Refusal(), HasSubstr("format 'reprise-package-2', expected 'reprise-package-1': "
                                   "another version of Reprise packed it"));
}

TEST_F(Package, SameSetSameBytes) {
  MakeSet();
  ASSERT_TRUE(PackSet({.directory = set_, .output = file_}));
  fs::last_write_time(set_ + "/trace.0.et", fs::file_time_type::clock::now());
  const std::string second = base_ + "/second.reprise";
  ASSERT_TRUE(PackSet({.directory = set_, .output = second}));
  EXPECT_EQ(Bytes(file_), Bytes(second));
}

TEST_F(Package, CutAnywhereIsRefused) {
  MakeSet();
  ASSERT_TRUE(PackSet({.directory = set_, .output = file_}));
  const std::string whole = Bytes(file_);
  for (const double share : {0.0, 0.001, 0.1, 0.5, 0.9, 0.999}) {
    WriteText(file_,
              whole.substr(0, static_cast<std::size_t>(share * static_cast<double>(whole.size()))));
    EXPECT_NE(Refusal(), "") << share;
  }
  std::string damaged = whole;
  damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 0x55);
  WriteText(file_, damaged);
  EXPECT_NE(Refusal(), "");
  WriteText(file_, whole);
  EXPECT_EQ(Refusal(), "");
}

TEST_F(Package, HonestHandMadeOneIsTaken) {
  const std::string trace = SoundTrace(1);
  HandMade(file_).Manifest({Listed("a.0.et", trace)}).Add("a.0.et", trace);
  EXPECT_EQ(Refusal(), "");
  HandMade(file_, false).Manifest({Listed("a.0.et", trace)}).Add("a.0.et", trace);
  EXPECT_EQ(Refusal(), "");  // a plain tar says as much
}

TEST_F(Package, PathsThatLeadElsewhere) {
  for (const char* path : {"../a.0.et", "/tmp/reprise_a.0.et", "runs/../../a", "runs/a/b", "a/b",
                           "..", ".hidden", "a\\b", "C:a", "-rf", "a b", "runs/", "runs/a"}) {
    HandMade(file_).Manifest({Listed("a.0.et", "x")}).Add(path, "x");
    EXPECT_THAT(Refusal(), HasSubstr("no package has a path like that")) << path;
    HandMade(file_).Manifest({Listed(path, "x")}).Add("a.0.et", "x");
    EXPECT_THAT(Refusal(), HasSubstr("lists a path that no package may have")) << path;
  }
  EXPECT_FALSE(fs::exists("/tmp/reprise_a.0.et"));
}

TEST_F(Package, LinksDevicesAndFolders) {
  const auto refuse = [this](const HandMade::Edit& edit) {
    HandMade(file_).Manifest({Listed("a.0.et", "")}).Add("a.0.et", "", edit);
    EXPECT_THAT(Refusal(), HasSubstr("link, device or folder"));
  };
  refuse([](archive_entry* entry) {
    archive_entry_set_filetype(entry, AE_IFLNK);
    archive_entry_set_symlink(entry, "/etc/passwd");
  });
  refuse([](archive_entry* entry) { archive_entry_set_hardlink(entry, "/etc/passwd"); });
  refuse([](archive_entry* entry) { archive_entry_set_filetype(entry, AE_IFCHR); });
  refuse([](archive_entry* entry) { archive_entry_set_filetype(entry, AE_IFIFO); });
  HandMade(file_).Manifest({Listed("a.0.et", "")}).Add("a.0.et", "", [](archive_entry* entry) {
    archive_entry_set_filetype(entry, AE_IFDIR);
  });
  EXPECT_NE(Refusal(), "");  // "a.0.et/" is no path of a package either
}

TEST_F(Package, WhatTheManifestDoesNotSay) {
  HandMade(file_).Manifest({Listed("a.0.et", "x")}).Add("a.0.et", "y");
  EXPECT_THAT(Refusal(), HasSubstr("not what its checksum says"));
  HandMade(file_).Manifest({Listed("a.0.et", "x")}).Add("a.0.et", "xy");
  EXPECT_THAT(Refusal(), HasSubstr("lists 'a.0.et' of 1"));
  HandMade(file_).Manifest({Listed("a.0.et", "x")}).Add("a.0.et", "x").Add("b.0.et", "x");
  EXPECT_THAT(Refusal(), HasSubstr("'b.0.et' is not listed"));
  HandMade(file_).Manifest({Listed("a.0.et", "x")}).Add("a.0.et", "x").Add("a.0.et", "x");
  EXPECT_THAT(Refusal(), HasSubstr("not listed"));  // a duplicate
  HandMade(file_).Manifest({Listed("a.0.et", "x"), Listed("a.0.et", "x")}).Add("a.0.et", "x");
  EXPECT_THAT(Refusal(), HasSubstr("twice"));
  HandMade(file_).Manifest({Listed("a.0.et", "x")});
  EXPECT_THAT(Refusal(), HasSubstr("'a.0.et' is missing"));
  HandMade(file_).Add("a.0.et", "x");
  EXPECT_THAT(Refusal(), HasSubstr("first file is not manifest.json"));
  HandMade(file_).Add(kManifestFile, "{}");
  EXPECT_THAT(Refusal(), HasSubstr("manifest.json"));
  WriteText(file_, "no archive at all");
  EXPECT_THAT(Refusal(), HasSubstr("no package"));
}

TEST_F(Package, Bombs) {
  const std::string zeros(std::size_t{40} << 20, '\0');
  HandMade(file_).Manifest({Listed("a.0.et", zeros)}).Add("a.0.et", zeros);
  ASSERT_LT(fs::file_size(file_), std::size_t{40} << 10);
  EXPECT_THAT(Refusal(), HasSubstr("--max-ratio"));
  UnpackLimits limits;
  limits.ratio = 1'000'000;
  EXPECT_THAT(Refusal(limits), HasSubstr("an empty message"));
  limits.bytes = 1 << 20;
  EXPECT_THAT(Refusal(limits), HasSubstr("--max-bytes"));
  // A manifest that says less than there is, and one whose sum overflows.
  HandMade(file_).Manifest({Listed("a.0.et", "x")}).Add("a.0.et", zeros);
  EXPECT_THAT(Refusal(), HasSubstr("lists 'a.0.et' of 1"));
  PackagedFile huge = Listed("a.0.et", "x");
  huge.bytes = UINT64_MAX;
  PackagedFile more = Listed("b.0.et", "x");
  HandMade(file_).Manifest({more, huge}).Add("b.0.et", "x");
  EXPECT_THAT(Refusal(), HasSubstr("--max-bytes"));
  limits = {};
  limits.files = 1;
  HandMade(file_).Manifest({Listed("a.0.et", "x"), more}).Add("a.0.et", "x");
  EXPECT_THAT(Refusal(limits), HasSubstr("--max-files"));
}

TEST_F(Package, OversizedHeaders) {
  HandMade(file_).Add(kManifestFile, std::string(UnpackLimits::kManifestBytes + 1, ' '));
  EXPECT_THAT(Refusal(), HasSubstr("over the limit"));
  HandMade(file_).Manifest({Listed("a.0.et", "x")}).Add(std::string(1 << 16, 'a'), "x");
  EXPECT_NE(Refusal(), "");
  // Extended attributes of 8 MB: an archive's reader would keep them in memory.
  HandMade(file_).Manifest({Listed("a.0.et", "x")}).Add("a.0.et", "x", [](archive_entry* entry) {
    const std::string value(std::size_t{8} << 20, 'v');
    archive_entry_xattr_add_entry(entry, "user.x", value.data(), value.size());
  });
  EXPECT_NE(Refusal(), "");
}

}  // namespace
}  // namespace reprise::pytorch
