#pragma once
int nobody();
