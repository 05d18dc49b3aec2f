// A directory of its own for each test, gone with it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace reprise {

class RunDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 (std::string("reprise_") + info->test_suite_name() + "_" + info->name() + "_" +
                  std::to_string(getpid()));
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string Directory() const { return directory_.string(); }
  [[nodiscard]] std::string File(const std::string& name) const {
    return (directory_ / name).string();
  }
  std::filesystem::path directory_;
};

}  // namespace reprise
