"""Short runnable recipes on the shared loop: read one, run it, copy it (`pocketbert copy`) and make it yours."""
