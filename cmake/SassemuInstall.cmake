# Installation: the targets that exist, their headers, the CMake packages and the pkg-config files.
# What does not belong here: how anything is built.
