"""What searches share: the rows that they find, and those that there are for each row that asks."""
