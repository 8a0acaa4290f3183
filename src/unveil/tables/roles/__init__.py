"""What each column is: guessed from a survey, said in a sentence, overruled by a word."""
