// Where drivers are looked for, in a root of its own and without loading anything.
#include "kernels/opencl/icd_search.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace reprise {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

class IcdSearchTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "reprise_icd_search_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    places_.root = root_;
    places_.registry = root_ / "etc/OpenCL/vendors";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string Write(const std::string& path, const std::string& text = "") {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return root_ / path;
  }
  DriverSearch Search(const std::vector<std::string>& named = {}) {
    auto search = SearchIcds(places_, named, [this](const std::string& library) {
      return library.find(broken_) == std::string::npos ? "" : "broken";
    });
    EXPECT_TRUE(search.has_value()) << (search ? "" : search.error().message);
    return search ? *search : DriverSearch{};
  }

  fs::path root_;
  IcdPlaces places_;
  std::string broken_ = "broken";
};

const auto kLibrary = [](const std::string& library) { return Field(&Driver::library, library); };

TEST_F(IcdSearchTest, NothingRegisteredLooksForEveryVendor) {
  const auto rocm = Write("opt/rocm-6.0.2/lib/libamdocl64.so");
  const auto nvidia = Write("usr/local/nvidia/lib64/libnvidia-opencl.so.1");
  Write("usr/lib/libsomething.so");
  const DriverSearch search = Search();
  EXPECT_THAT(search.registered, IsEmpty());
  EXPECT_THAT(search.found, ElementsAre(kLibrary(nvidia), kLibrary(rocm)));
  EXPECT_EQ(search.looked_for.size(), 4U);
}

TEST_F(IcdSearchTest, OwnDirectoriesComeFirst) {
  Write("usr/lib64/libnvidia-opencl.so.1");
  const auto mine = Write("mine/libnvidia-opencl.so.1");
  places_.directories = {root_ / "mine"};
  EXPECT_THAT(Search().found, ElementsAre(kLibrary(mine)));
}

TEST_F(IcdSearchTest, ARegisteredCpuDriverHidesNoGpu) {
  Write("etc/OpenCL/vendors/pocl.icd", "libpocl.so.2.10.0\n");
  const auto nvidia = Write("usr/lib64/libnvidia-opencl.so.1");
  Write("usr/lib64/libintelocl.so");
  const DriverSearch search = Search();
  EXPECT_THAT(search.registered, ElementsAre(kLibrary("libpocl.so.2.10.0")));
  EXPECT_THAT(search.found, ElementsAre(kLibrary(nvidia)));
}

TEST_F(IcdSearchTest, WhatIsRegisteredOrNamedIsNotLookedFor) {
  Write("etc/OpenCL/vendors/nvidia.icd", "libnvidia-opencl.so.1\n");
  Write("usr/lib64/libnvidia-opencl.so.1");
  Write("opt/rocm/lib/libamdocl64.so");
  const auto named = Write("mine/libamdocl64.so");
  const DriverSearch search = Search({named});
  EXPECT_THAT(search.found, IsEmpty());
  EXPECT_THAT(search.named, ElementsAre(kLibrary(named)));
}

TEST_F(IcdSearchTest, ARegisteredDriverThatCannotBeLoadedIsLookedForElsewhere) {
  broken_ = "libnvidia-opencl.so.1";
  Write("etc/OpenCL/vendors/nvidia.icd", "libnvidia-opencl.so.1\n");
  Write("usr/lib64/libnvidia-opencl.so.1");
  const DriverSearch search = Search();
  EXPECT_THAT(search.registered, ElementsAre(Field(&Driver::problem, "broken")));
  EXPECT_THAT(search.found, ElementsAre(Field(&Driver::problem, "broken")));
  EXPECT_THAT(UsableLibraries(search), IsEmpty());
}

TEST_F(IcdSearchTest, AChosenRegistryIsAddedToOnlyWhereItIsEmpty) {
  const auto nvidia = Write("usr/lib64/libnvidia-opencl.so.1");
  places_.registry_is_chosen = true;
  fs::create_directories(places_.registry);
  EXPECT_THAT(Search().found, ElementsAre(kLibrary(nvidia)));
  Write("etc/OpenCL/vendors/broken.icd", "libbroken.so\n");
  const DriverSearch search = Search();
  EXPECT_FALSE(search.looked_around);
  EXPECT_THAT(search.found, IsEmpty());
  places_.registry = "libpocl.so.2";
  EXPECT_THAT(Search().registered, ElementsAre(kLibrary("libpocl.so.2")));
}

TEST_F(IcdSearchTest, NamedFilesAndDirectories) {
  const auto icd = Write("mine/a.icd", "liba.so\n");
  Write("mine/b.icd", "libb.so\n");
  Write("mine/readme");
  EXPECT_THAT(Search({icd}).named, ElementsAre(kLibrary("liba.so")));
  EXPECT_THAT(Search({root_ / "mine"}).named,
              ElementsAre(kLibrary("liba.so"), kLibrary("libb.so")));
}

TEST_F(IcdSearchTest, NamedDriversMustBeUsable) {
  const auto empty = Write("mine/empty.icd");
  fs::create_directories(root_ / "none");
  const auto fails = [&](const std::string& named) {
    const auto search = SearchIcds(places_, {named}, LoadIcdLibrary);
    EXPECT_FALSE(search.has_value());
    EXPECT_THAT(search.error().message, testing::HasSubstr("--icd " + named));
    return search.error().kind;
  };
  EXPECT_EQ(fails(root_ / "nowhere.so"), ErrorKind::kUsage);
  EXPECT_EQ(fails(root_ / "none"), ErrorKind::kUsage);
  EXPECT_EQ(fails(empty), ErrorKind::kEnvironment);
  EXPECT_EQ(fails("libno_such_driver.so"), ErrorKind::kEnvironment);
  EXPECT_EQ(fails("libm.so.6"), ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace reprise
